import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sshd, startSshd } from '../packages/platform/test/support/sshd.js';
import { Cluster } from './support/cluster.js';
import { isFinished } from './support/pushy-server.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** Nodes without an agent by the command line, beside one that has one. */

const run = promisify(execFile);
let sshd: Sshd;
let cluster: Cluster;

beforeAll(async () => {
  sshd = await startSshd();
  cluster = await Cluster.start({ flags: ['--ssh-nodes-interval', '1'] });
  writeFileSync(join(cluster.dir, 'id'), sshd.privateKey, { mode: 0o600 });
  await cluster.startAgents({ web1: { commands: { 'echo ready': 'echo ready' } } });
});
neverHarmed(() => cluster);
afterAll(async () => {
  await cluster?.stop();
  await sshd?.remove();
});

async function said(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.muster(...words);
  if (code !== 0) throw new Error(`muster ${words.join(' ')}: exit ${code}\n${stdout}${stderr}`);
  return stdout;
}

async function sleeping(seconds: string): Promise<number> {
  const { stdout } = await run('ps', ['-eo', 'args']);
  return stdout.split('\n').filter((line) => line === `sleep ${seconds}`).length;
}

interface Started {
  readonly id: string;
}

test('one is added without a key of its host, which is looked at, compared and pinned', async () => {
  const { host, port, user, hostKey } = sshd.system;
  const where = ['--host', `${host}:${port}`, '--user', user, '--key-file', 'id'];
  const allowed = ['--allow', 'echo ready', '--allow', 'sleep 7654501'];
  const unread = await cluster.muster('ssh-node', 'add', 'box1', ...where, ...allowed, '--host-key', 'SHA256:short');
  expect([unread.code, await cluster.json('secret', 'list')]).toEqual([2, []]);
  const policy = join(cluster.dir, 'box.yaml');
  writeFileSync(policy, 'labels: { place: shelf }');
  const added = await said('ssh-node', 'add', 'box1', ...where, ...allowed, '--policy', policy);
  expect(added).toContain('none is pinned');
  // It was never reached, and is one of its place nevertheless.
  expect(await said('node', 'search', 'place:shelf')).toContain('box1');
  const again = await cluster.muster('ssh-node', 'add', 'box1', ...where, '--allow', 'echo ready');
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("node 'box1' already exists")]);
  const tried = await cluster.muster('ssh-node', 'test', 'box1');
  expect(tried).toMatchObject({ code: 1, stdout: expect.stringContaining(`--host-key SHA256:${hostKey}`) });
  await said('ssh-node', 'set', 'box1', '--host-key', hostKey);
  await cluster.available('box1');
  expect(await said('ssh-node', 'test', 'box1')).toContain('commands can be run and ended there');
  expect(await said('node', 'list')).toMatch(/box1 .* ssh /);
  expect(await said('node', 'show', 'box1')).toContain('none: over ssh');
  expect(await cluster.json('ssh-node', 'show', 'box1')).toMatchObject({ via: 'ssh', reached: 'reached' });
  expect(await cluster.json('ssh-node', 'list')).toMatchObject([{ node_name: 'box1' }]);
});

test('a push job runs there and on nodes with agents, under one quorum', async () => {
  const output = await said('push', 'start', '--node', 'web1', 'box1', '--quorum', '2', '--', 'echo', 'ready');
  expect(output).toContain('ready');
  expect(output).toContain('2 nodes completed successfully');
  const refused = await cluster.muster('push', 'start', '--node', 'web1', 'box1', '--', 'sleep', '7654501');
  expect(refused.stdout).toContain('quorum_failed');
});

test('a command that runs there when the server is killed is ended when it is started again, and told', async () => {
  const { id } = await cluster.json<Started>('push', 'start', '--node', 'box1', '--detach', '--', 'sleep', '7654501');
  await until('it runs', async () => (await sleeping('7654501')) === 1);
  await cluster.killServer();
  expect(await sleeping('7654501')).toBe(1);
  await cluster.restartServer();
  await until('it is ended', async () => (await sleeping('7654501')) === 0);
  const job = await until('it has ended', async () => {
    const found = await cluster.job(id);
    return isFinished(found) && found;
  });
  expect(job.nodes.succeeded).toBeUndefined();
  await cluster.available('box1');
});

test('one that is down says why, and one that is deleted leaves nothing behind', async () => {
  await sshd.stop();
  await cluster.down('box1');
  expect(await said('node', 'why', 'box1')).toMatch(
    /It has no agent: the server runs commands there over ssh as .*ECONNREFUSED/,
  );
  const refused = await cluster.muster('push', 'start', '--node', 'box1', '--', 'echo', 'ready');
  expect(refused.stdout).toContain('down');
  await said('ssh-node', 'rm', 'box1', '--yes');
  expect(await cluster.json('ssh-node', 'list')).toEqual([]);
  expect(await cluster.json('secret', 'list')).toEqual([]);
  await until('its directory is gone', async () =>
    readdirSync(join(cluster.dataDir, 'ssh-nodes')).every((name) => name === 'hosting.pem'),
  );
});
