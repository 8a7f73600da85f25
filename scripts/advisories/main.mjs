/**
 * Fails when a package of `package-lock.json` is known to be vulnerable: by the advisories that are kept in `advisories.json`, so that it
 * needs no network. `npm run advisories -- --take DIRECTORY` replaces them by those of a directory of OSV files that name a package of ours.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { affectedPackages, installedPackages } from './affected.mjs';

const LIST = fileURLToPath(new URL('./advisories.json', import.meta.url));
const { values: options } = parseArgs({
  options: { take: { type: 'string' }, lock: { type: 'string', default: 'package-lock.json' } },
});
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const lock = read(options.lock);

if (options.take !== undefined) {
  const ours = installedPackages(lock);
  const names = readdirSync(options.take).filter((name) => name.endsWith('.json'));
  const advisories = names
    .map((name) => read(join(options.take, name)))
    .map(({ id, aliases, modified, summary, affected, withdrawn }) => ({
      id,
      aliases,
      modified,
      summary,
      affected: affected
        .filter((each) => each.package?.ecosystem === 'npm' && ours.has(each.package.name))
        .map(({ package: { ecosystem, name }, ranges, versions }) => ({
          package: { ecosystem, name },
          ranges,
          versions,
        })),
      withdrawn,
    }))
    .filter(({ affected, withdrawn }) => affected.length > 0 && withdrawn === undefined)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  // A directory of something else would make the check pass for ever.
  if (advisories.length === 0)
    throw new Error(`${options.take} has no advisory for a package of ours: unpack OSV's export of npm there`);
  writeFileSync(LIST, `${JSON.stringify({ taken: new Date().toISOString().slice(0, 10), advisories }, null, 2)}\n`);
}

const { taken, advisories } = read(LIST);
const found = affectedPackages(lock, advisories);
for (const { id, name, version, fixed, summary } of found) {
  const to = fixed.length === 0 ? 'not fixed yet' : `fixed in ${fixed.join(', ')}`;
  process.stderr.write(`${name} ${version}: ${summary} (${id}; ${to})\n`);
}
if (found.length > 0) process.exitCode = 1;
else
  process.stdout.write(
    `none of ${advisories.length} advisories, as of ${taken}, is for a version in ${options.lock}\n`,
  );
