import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MODULES = fileURLToPath(new URL('../../../node_modules/', import.meta.url));
const HEADER = fileURLToPath(new URL('./old-glibc.h', import.meta.url));

/** The oldest systems on which packages run: Debian 10 and RHEL 8, with what comes beside their glibc. */
export const OLDEST = { GLIBC: '2.28', GLIBCXX: '3.4.25', CXXABI: '1.3.11' };

/**
 * The native modules of the single executable, by name. Two ship what was built for systems old enough; better-sqlite3 is built here,
 * because what its own installation fetches, or builds, is for newer ones. `cache`: where it is kept for the next time.
 */
export function nativeModules(cache) {
  const { arch } = process;
  return {
    zeromq: join(NODE_MODULES, `zeromq/build/linux/${arch}/node/glibc-127-Release/addon.node`),
    'sodium-native': join(NODE_MODULES, `sodium-native/prebuilds/linux-${arch}/sodium-native.node`),
    'better-sqlite3': builtSqlite(cache),
  };
}

function builtSqlite(cache) {
  const source = join(NODE_MODULES, 'better-sqlite3');
  const manifest = readFileSync(join(source, 'package.json'), 'utf8');
  const key = createHash('sha256').update([manifest, readFileSync(HEADER), process.version, process.arch].join('\0'));
  const built = join(cache, `better-sqlite3-${key.digest('hex').slice(0, 16)}.node`);
  if (existsSync(built)) return built;

  const nodeGyp = process.env.npm_config_node_gyp;
  if (nodeGyp === undefined) throw new Error('run it with npm: it brings node-gyp');
  const directory = join(cache, 'better-sqlite3');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const part of ['binding.gyp', 'deps', 'src', 'package.json']) {
    cpSync(join(source, part), join(directory, part), { recursive: true });
  }
  const flags = `-w -include ${HEADER} -ffile-prefix-map=${directory}=.`;
  execFileSync(process.execPath, [nodeGyp, 'rebuild', '--release'], {
    cwd: directory,
    env: { ...process.env, CFLAGS: flags, CXXFLAGS: flags, LDFLAGS: '-s' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  renameSync(join(directory, 'build/Release/better_sqlite3.node'), built);
  rmSync(directory, { recursive: true });
  return built;
}

/** The newest version of each that a program or module needs, such as `{ GLIBC: '2.17' }`. Needs `readelf` (binutils). */
export function neededVersions(file) {
  const said = execFileSync('readelf', ['--version-info', '--wide', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const newest = {};
  for (const [, name, version] of said.matchAll(/\b(GLIBC|GLIBCXX|CXXABI)_(\d[\d.]*)/g)) {
    if (newest[name] === undefined || isNewer(version, newest[name])) newest[name] = version;
  }
  return newest;
}

/** What it needs that the oldest systems do not have, such as `GLIBC 2.34`. */
export function tooNew(needed) {
  const above = Object.entries(needed).filter(([name, version]) => isNewer(version, OLDEST[name]));
  return above.map(([name, version]) => `${name} ${version}`);
}

function isNewer(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const at = left.findIndex((number, index) => number !== (right[index] ?? 0));
  return at >= 0 && left[at] > (right[at] ?? 0);
}
