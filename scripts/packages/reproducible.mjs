import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes the release of the commit once more, elsewhere: in a clone below another path, with the same packages of others, native modules
 * compiled anew, in another time zone and language. Returns what differs from `out`.
 */
export function rebuiltDifferences({ root, out }) {
  const elsewhere = mkdtempSync(join(tmpdir(), 'muster-once-more-'));
  try {
    const clone = join(elsewhere, 'another-path-that-is-longer');
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
    const cache = join(root, 'node_modules/.cache');
    const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name));
    for (const modules of ['', ...packages].map((path) => join(path, 'node_modules'))) {
      if (!existsSync(join(root, modules))) continue;
      cpSync(join(root, modules), join(clone, modules), {
        recursive: true,
        verbatimSymlinks: true,
        filter: (path) => path !== cache,
      });
    }
    execFileSync('npm', ['run', 'release'], {
      cwd: clone,
      env: { ...process.env, TZ: 'Pacific/Auckland', LC_ALL: 'C', SOURCE_DATE_EPOCH: undefined },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return differences(out, join(clone, 'release'));
  } finally {
    rmSync(elsewhere, { recursive: true, force: true });
  }
}

/** One line for each file that is not in both directories with the same bytes. Directories in them are passed over. */
export function differences(one, other) {
  const [left, right] = [one, other].map((directory) => {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  });
  return [...new Set([...left, ...right])].sort().flatMap((name) => {
    if (!right.includes(name)) return [`${name}: was not made again`];
    if (!left.includes(name)) return [`${name}: was not there the first time`];
    const [a, b] = [one, other].map((directory) => readFileSync(join(directory, name)));
    if (a.equals(b)) return [];
    const at = a.findIndex((byte, index) => byte !== b[index]);
    return [`${name}: ${a.length} and ${b.length} bytes, different from byte ${at < 0 ? a.length : at} on`];
  });
}

/** As `sha256sum` writes it. */
export function checksums(directory, names) {
  return [...names]
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('');
}
