import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprintOf, generateKeyPair } from '@muster/signing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** The key of the server is replaced, and no node is touched for it. */

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ flags: ['--command-config-lifetime', '3s'] });
  await cluster.startAgents({ a: { commands: { quick: 'true' } }, b: { commands: { quick: 'true' } } });
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

interface Status {
  readonly fingerprint: string;
  readonly next: {
    readonly fingerprint: string;
    readonly agents: { readonly up: number; readonly told: number };
  } | null;
  readonly previous: readonly { readonly fingerprint: string; readonly revoked: boolean }[];
}

const status = (): Promise<Status> => cluster.json<Status>('server-key', 'status');
const known = (agent: string): string | null => {
  const path = join(cluster.agentDir(agent), 'server.pub');
  return existsSync(path) ? fingerprintOf(readFileSync(path, 'utf8')) : null;
};
const knows = (agent: string, fingerprint: string) =>
  until(`${agent} to know the key`, async () => known(agent) === fingerprint);

/** Of the agents that are connected; null: nothing is announced, or no more. */
async function told(): Promise<string | null> {
  const { next } = await status();
  return next && `${next.agents.told}/${next.agents.up}`;
}

async function said(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.muster(...words);
  expect([code, stderr], `muster ${words.join(' ')}`).toEqual([0, expect.any(String)]);
  return stdout;
}

async function bothWork(): Promise<void> {
  for (const name of ['a', 'b']) await cluster.available(name);
  const id = await cluster.startJob({ command: 'quick', nodes: ['a', 'b'] });
  expect([...((await cluster.jobIs(id, 'complete')).nodes.succeeded ?? [])].sort()).toEqual(['a', 'b']);
}

test('a next key is announced and taken back, and nothing has happened', async () => {
  const { fingerprint } = await status();
  await Promise.all([knows('a', fingerprint), knows('b', fingerprint)]);
  expect(await said('server-key', 'rotate', '--overlap', '30d')).toMatch(/^Takes over/m);
  const announced = await status();
  expect(announced).toMatchObject({ fingerprint, next: { agents: { up: 2 } } });
  expect((await cluster.muster('server-key', 'rotate')).code).not.toBe(0);
  expect(await said('doctor')).toMatch(/server key: .*the next takes over in 29d/);
  await said('server-key', 'cancel');
  expect((await status()).next).toBe(null);
  await bothWork();
});

test('the next key takes over at its time, and no node is lost for it', async () => {
  const { fingerprint } = await status();
  expect((await cluster.muster('server-key', 'rotate', '--overlap', '2s')).stderr).toContain('error: --overlap: ');
  await said('server-key', 'rotate', '--overlap', '12s');
  // On a machine that is busy it may have taken over before it was asked.
  await until('every agent to know of it', async () => ['2/2', null].includes(await told()));
  await until('the next to take over', async () => (await status()).fingerprint !== fingerprint);
  const { fingerprint: next, previous } = await status();
  expect(previous[0]).toMatchObject({ fingerprint, revoked: false });
  await Promise.all([knows('a', next), knows('b', next)]);
  await bothWork();
  for (const name of ['a', 'b']) expect(cluster.agent(name).log).not.toContain('the server is offline');
});

test('the key is no secret any more: connected nodes take the new one at once, one that was away when it comes back', async () => {
  const { fingerprint: first, previous: before } = await status();
  await cluster.agent('b').kill('SIGKILL');
  await said('server-key', 'rotate', '--revoke', '--yes');
  const second = (await status()).fingerprint;
  expect(second).not.toBe(first);
  await knows('a', second);
  // Once more, so that the one that is away has missed two.
  await said('server-key', 'rotate', '--revoke', '--yes');
  const third = await status();
  expect(third.previous.map(({ fingerprint, revoked }) => [fingerprint, revoked])).toEqual([
    [second, true],
    [first, true],
    ...before.map((one) => [one.fingerprint, one.revoked]),
  ]);
  await knows('a', third.fingerprint);
  expect(known('b')).toBe(first);
  cluster.launchAgent('b');
  await knows('b', third.fingerprint);
  await bothWork();
  // Seals of three keys.
  expect(await said('audit', 'verify')).toContain(third.fingerprint);
});

test('a node that knows another server says so and takes no job; its owner makes it believe the next answer', async () => {
  await cluster.agent('b').kill('SIGKILL');
  const path = join(cluster.agentDir('b'), 'server.pub');
  writeFileSync(path, (await generateKeyPair()).publicKey);
  const agent = cluster.launchAgent('b');
  await until('the agent to say so', async () => agent.log.includes('this is not the server that the node knows'));
  await cluster.down('b');
  await agent.kill('SIGKILL');
  rmSync(path);
  cluster.launchAgent('b');
  await bothWork();
});
