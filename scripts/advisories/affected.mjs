/** Which packages of a lock file are affected by which advisories, as OSV defines it (https://ossf.github.io/osv-schema/). */

/**
 * @param {object} lock `package-lock.json`
 * @param {readonly object[]} advisories in OSV's form
 * @returns {{ id: string, name: string, version: string, fixed: string[], summary: string }[]}
 */
export function affectedPackages(lock, advisories) {
  const installed = installedPackages(lock);
  return advisories
    .filter(({ withdrawn }) => withdrawn === undefined)
    .flatMap(({ id, summary = '', affected }) =>
      affected.flatMap(({ package: { ecosystem, name }, ranges = [], versions = [] }) => {
        if (ecosystem !== 'npm') return [];
        return [...(installed.get(name) ?? [])]
          .filter((version) => versions.includes(version) || ranges.some((range) => isWithin(version, range)))
          .map((version) => ({ id, name, version, fixed: fixes(ranges), summary }));
      }),
    );
}

/** Versions by name; an alias (`npm:`) counts as what it stands for. */
export function installedPackages(lock) {
  const found = new Map();
  for (const [path, { name, version, link }] of Object.entries(lock.packages)) {
    const [, last] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (last === undefined || link || version === undefined) continue;
    const its = name ?? last;
    found.set(its, (found.get(its) ?? new Set()).add(version));
  }
  return found;
}

/** The last event at or below a version says whether it is affected; `last_affected` is the version before it ends. */
function isWithin(version, { type, events }) {
  if (type !== 'SEMVER') return false;
  const passed = events.flatMap(({ introduced, fixed, last_affected: last }) => {
    if (introduced !== undefined)
      return compareVersions(version, introduced) >= 0 ? [{ at: introduced, begins: true }] : [];
    if (fixed !== undefined) return compareVersions(version, fixed) >= 0 ? [{ at: fixed, begins: false }] : [];
    return last !== undefined && compareVersions(version, last) > 0 ? [{ at: last, begins: false }] : [];
  });
  return passed.sort((a, b) => compareVersions(a.at, b.at)).at(-1)?.begins === true;
}

function fixes(ranges) {
  return ranges.flatMap(({ events }) => events.flatMap(({ fixed }) => fixed ?? []));
}

/** By Semantic Versioning 2.0.0, §11; build metadata does not count. OSV's `0` is before all others. */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map(parts);
  for (let at = 0; at < 3; at += 1) {
    if (left.numbers[at] !== right.numbers[at]) return left.numbers[at] - right.numbers[at];
  }
  if (left.before.length === 0 || right.before.length === 0) return right.before.length - left.before.length;
  for (let at = 0; at < Math.max(left.before.length, right.before.length); at += 1) {
    const order = compareIdentifiers(left.before[at], right.before[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function parts(version) {
  const [core, ...before] = version.split('+', 1)[0].split('-');
  const numbers = core.split('.').map(Number);
  if (numbers.length > 3 || numbers.some((number) => !Number.isInteger(number))) {
    throw new Error(`not a version: ${version}`);
  }
  return { numbers: [...numbers, 0, 0].slice(0, 3), before: before.length === 0 ? [] : before.join('-').split('.') };
}

function compareIdentifiers(a, b) {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  const [left, right] = [a, b].map((each) => (/^\d+$/.test(each) ? Number(each) : null));
  if (left !== null && right !== null) return left - right;
  if (left !== null || right !== null) return left !== null ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
