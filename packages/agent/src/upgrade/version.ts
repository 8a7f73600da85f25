const VERSION = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z-]{1,32}(?:\.[0-9A-Za-z-]{1,32}){0,7}))?$/;

/** The line of a public key file of minisign that is not a comment. */
export const MINISIGN_KEY = '^RW[A-Za-z0-9+/]{54}$';

/** As in the configuration: `1.2.3`, or `1.3.0-rc.1` of what comes before a release. */
export const VERSION_PATTERN = VERSION.source;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Below 0: `one` is older. By the rules of semantic versions; both are versions. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [VERSION.exec(one), VERSION.exec(other)];
  for (const at of [1, 2, 3]) {
    const difference = Number(left?.[at]) - Number(right?.[at]);
    if (difference !== 0) return difference;
  }
  return compareBeginnings(left?.[4], right?.[4]);
}

/** What stands behind the dash comes before the release itself. */
function compareBeginnings(one: string | undefined, other: string | undefined): number {
  if (one === other) return 0;
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1;
  const [left, right] = [one.split('.'), other.split('.')];
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const difference = compareParts(left[at], right[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareParts(one: string | undefined, other: string | undefined): number {
  if (one === other) return 0;
  if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
  const [left, right] = [one, other].map((part) => (/^\d+$/.test(part) ? Number(part) : null));
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'number' || typeof right === 'number') return typeof left === 'number' ? -1 : 1;
  return one < other ? -1 : 1;
}
