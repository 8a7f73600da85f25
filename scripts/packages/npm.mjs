import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where everything is as in a checkout, so that what stands beside a file is found there. */
const FILES = [
  'packages/cli/bin',
  'packages/cli/dist/bundle',
  'packages/cli/route-answers.json',
  'packages/agent/dist/muster-forker',
  'packages/plugin/perl',
  'packages/base/package.json',
  'packages/console/dist',
  'LICENSE',
];

/** What the bundle does not have in it: packages with native modules, or that look for files of their own. */
export const OUTSIDE = [
  'better-sqlite3',
  'zeromq',
  'sodium-native',
  'ssh2',
  'pino',
  '@fastify/swagger',
  '@fastify/swagger-ui',
];

/** Makes a package that `npm install --global` takes: the bundle, and of others only what is not in it. Returns its file. */
export function makeNpm({ root, version, out, work }) {
  rmSync(work, { recursive: true, force: true });
  for (const path of FILES) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    cpSync(join(root, path), join(work, path), { recursive: true });
  }
  chmodSync(join(work, 'packages/cli/bin/muster.js'), 0o755);
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  writeFileSync(join(work, 'package.json'), `${JSON.stringify(manifest(version, locked), null, 2)}\n`);
  const said = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], {
    cwd: work,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return join(out, JSON.parse(said)[0].filename);
}

export function manifest(version, locked) {
  return {
    name: 'muster',
    version,
    description: 'Muster runs work on fleets of machines.',
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20.19' },
    bin: { muster: 'packages/cli/bin/muster.js' },
    files: FILES,
    dependencies: Object.fromEntries(OUTSIDE.map((name) => [name, locked[`node_modules/${name}`].version])),
  };
}
