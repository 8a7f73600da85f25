import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { publicHalf } from '@muster/signing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';

/** Scripts and files of push jobs, as a person uses them, on real processes. */
/** Shows a secret, and where it is. */
const LEAK = 'cat "$MUSTER_SECRETS/db"; echo; ls -d "$MUSTER_SECRETS"';
let cluster: Cluster;
let srv: string;
let files: string;

const hidden = (directory: string) => readdirSync(directory).filter((name) => name.startsWith('.muster'));

beforeAll(async () => {
  cluster = await Cluster.start();
  srv = join(cluster.dir, 'srv');
  files = join(cluster.dir, 'mine');
  for (const place of [join(srv, 'a', 'conf'), join(srv, 'b'), files]) mkdirSync(place, { recursive: true });
  const places = { allow_upload: [`${srv}/**`], allow_fetch: [`${srv}/**`] };
  await cluster.startAgents({
    web1: {
      commands: { hello: 'echo hello', leak: ['sh', '-c', LEAK], show: ['cat', `${srv}/a/conf/app.conf`] },
      allow_scripts: true,
      ...places,
    },
    web2: { commands: { hello: 'echo hello' } },
    web3: {
      allow_scripts: [{ name: 'admin', key: publicHalf(readFileSync(join(cluster.dataDir, 'admin.pem'), 'utf8')) }],
    },
  });
});
afterAll(() => cluster.stop());

function mine(name: string, content: string | Uint8Array, mode = 0o644): string {
  const path = join(files, name);
  writeFileSync(path, content, { mode });
  return path;
}

test('a script runs with its arguments as they are, and is gone afterwards', async () => {
  const script = mine('deploy.sh', '#!/bin/sh\nprintf "[%s]" "$0" "$@"; pwd >/dev/null\n');
  const argument = 'a b; echo $HOME';
  const done = await cluster.muster(
    'push',
    'start',
    '--node',
    'web1',
    '--capture',
    '--script',
    script,
    '--',
    '--x',
    argument,
  );
  expect(done.stdout).toMatch(new RegExp(`\\[(/\\S+/deploy\\.sh)\\]\\[--x\\]\\[${argument.replace('$', '\\$')}\\]`));
  expect(existsSync(/\[(\/\S+\/deploy\.sh)\]/.exec(done.stdout)?.[1] ?? '')).toBe(false);
  expect(done.code).toBe(0);
});

test('a node that does not allow it refuses, and says who can change that', async () => {
  const script = mine('deploy.sh', '#!/bin/sh\nprintf "[%s]" "$0" "$@"; pwd >/dev/null\n');
  const refused = await cluster.muster('push', 'start', '--node', 'web2', '--script', script);
  expect(refused.code).toBe(1);
  expect(refused.stdout + refused.stderr).toContain('its owner allows them with allow_scripts in agent.yaml');
});

test('a node that asks for a signature runs what its holder starts, and nothing that comes with a token', async () => {
  const script = mine('signed.sh', '#!/bin/sh\nexit 0\n');
  const start = ['push', 'start', '--node', 'web3', '--script', script];
  expect((await cluster.muster(...start, '--', 'x')).code).toBe(0);
  const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'admin');
  const settings = mine('token.yaml', JSON.stringify({ url: cluster.url, token }));
  const refused = await cluster.muster('--config', settings, ...start);
  expect(refused.stdout + refused.stderr).toContain('signed by admin; this one is not signed');
});

test('a secret is a file of the command, hidden in its output, and nowhere when that has ended', async () => {
  const value = mine('db', 'hunter2-hunter2\n');
  expect((await cluster.muster('secret', 'set', 'db', '--from', value)).code).toBe(0);
  rmSync(value);
  const done = await cluster.muster('push', 'start', '--node', 'web1', '--secret', 'db', '--', 'leak');
  expect(done.code, done.stderr).toBe(0);
  const [, directory = ''] = /\*\*\*\s[^/]*(\/\S+)/.exec(done.stdout) ?? [];
  expect(directory).toContain('secrets');
  expect(existsSync(directory)).toBe(false);
  const kept = readdirSync(cluster.dir, { recursive: true, encoding: 'utf8' }).map((name) => join(cluster.dir, name));
  const found = kept.filter(
    (path) => statSync(path).isFile() && readFileSync(path, 'latin1').includes('hunter2-hunter2'),
  );
  expect(found).toEqual([]);
});

test('a file is put in its place before the command starts', async () => {
  const file = mine('app.conf', 'color = blue\n', 0o640);
  const dest = `${srv}/a/conf/`;
  const done = await cluster.muster(
    'push',
    'start',
    '--node',
    'web1',
    '--capture',
    '--upload',
    `${file}:${dest}`,
    '--',
    'show',
  );
  expect(done.stdout).toContain('color = blue');
  expect(statSync(`${dest}app.conf`).mode & 0o777).toBe(0o640);
  expect(hidden(dest)).toEqual([]);
});

test('an upload alone is a job; where a node does not allow the place, nothing is written', async () => {
  const big = mine('big.bin', randomBytes(2_500_000));
  const dest = `${srv}/b/big.bin`;
  const done = await cluster.muster(
    'push',
    'start',
    '--node',
    'web1',
    'web2',
    '--quorum',
    '1',
    '--upload',
    `${big}:${dest}`,
  );
  expect(done.code).toBe(0);
  expect(done.stdout + done.stderr).toContain('its owner allows places with allow_upload');
  const sha = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
  expect(sha(dest)).toBe(sha(big));

  const job = (await cluster.json<{ id: string }[]>('push', 'list'))[0]?.id ?? '';
  writeFileSync(dest, 'changed');
  const again = await cluster.muster('push', 'rerun', job, '--status', 'succeeded');
  expect(again.code).toBe(0);
  expect(sha(dest)).toBe(sha(big));
});

test('without its quorum no file is in its place, and nothing is left beside it', async () => {
  const file = mine('never.conf', 'no');
  const refused = await cluster.muster(
    'push',
    'start',
    '--node',
    'web1',
    'web2',
    '--upload',
    `${file}:${srv}/b/never.conf`,
  );
  expect(refused.code).toBe(1);
  expect(existsSync(`${srv}/b/never.conf`)).toBe(false);
});

test('a link does not lead out of the place', async () => {
  symlinkSync(cluster.dir, `${srv}/out`);
  const file = mine('app.conf', 'x');
  const refused = await cluster.muster('push', 'start', '--node', 'web1', '--upload', `${file}:${srv}/out/stolen`);
  expect(refused.stdout + refused.stderr).toContain('is a link');
  const fetched = await cluster.muster('push', 'start', '--node', 'web1', '--fetch', `${srv}/out/agent-web1.log`);
  expect(fetched.code).toBe(1);
  expect(existsSync(join(cluster.dir, 'stolen'))).toBe(false);
});

test('fetch collects a file of each node', async () => {
  const bytes = randomBytes(300_000);
  writeFileSync(`${srv}/a/report.bin`, bytes);
  const to = join(cluster.dir, 'collected');
  const done = await cluster.muster('push', 'start', '--node', 'web1', '--fetch', `${srv}/a/report.bin`, '--to', to);
  expect(done.code).toBe(0);
  expect(readFileSync(join(to, 'web1', 'report.bin')).equals(bytes)).toBe(true);

  const refused = await cluster.muster('push', 'start', '--node', 'web1', '--fetch', '/etc/hostname');
  expect(refused.code).toBe(1);
  expect(refused.stdout + refused.stderr).toContain('its owner allows files with allow_fetch');
});

test('the audit tells who brought which file where', async () => {
  const { stdout } = await cluster.muster('audit', '--action', 'push.start', '--json');
  expect(stdout).toContain(`${srv}/b/big.bin`);
  expect(stdout).toContain(
    createHash('sha256')
      .update(readFileSync(join(files, 'deploy.sh')))
      .digest('hex'),
  );
});
