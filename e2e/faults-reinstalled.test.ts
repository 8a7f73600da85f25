import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { Cluster } from './support/cluster.js';
import { newKey } from './support/personas.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** A machine comes back under its name with a new key: reinstalled by its owner, or somebody else's. */
let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.startAgents({ a: { commands: { quick: 'true' } }, b: { commands: { quick: 'true' } } });
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

async function reinstall(name: string): Promise<void> {
  await cluster.agent(name).kill('SIGKILL');
  for (const file of ['client.pem', 'enrolled', 'incarnation']) {
    rmSync(join(cluster.agentDir(name), file), { force: true });
  }
}

test('an enrolment token does not give it the name: refused until an admin removes the node, then it is back and takes jobs', async () => {
  await reinstall('a');
  const token = await cluster.enrolToken(2);
  const refused = cluster.launchAgent('a', token);
  expect((await refused.exited).code).not.toBe(0);
  expect(refused.log).toContain("node 'a'");
  await cluster.down('a');

  const removed = await cluster.muster('node', 'rm', 'a', '--yes');
  expect(removed.code).toBe(0);
  cluster.launchAgent('a', token);
  await cluster.available('a');
  const id = await cluster.startJob({ command: 'quick', nodes: ['a', 'b'] });
  expect([...((await cluster.jobIs(id, 'complete')).nodes.succeeded ?? [])].sort()).toEqual(['a', 'b']);
});

test('a request signed with another key gets no configuration, and changes nothing for the node', async () => {
  const stranger = cluster.api.as({ name: 'b', privateKey: newKey().privateKey });
  const ccpk = encodeURIComponent(curveKeyPair().publicKey);
  const reply = await stranger.get(`pushy/config/b?version=3.0&ccpk=${ccpk}`);
  expect([reply.status, reply.headers['x-muster-error']]).toEqual([401, 'unknown_principal']);
  expect((await cluster.nodeState('b'))?.availability).toBe('available');
});

test('removed while it runs a job, the job ends without it', async () => {
  const id = await cluster.startJob({ command: 'sleep 600', nodes: ['a', 'b'], quorum: 1 });
  await cluster.nodeCountIn(id, 'running', 2);
  expect((await cluster.muster('node', 'rm', 'b', '--yes')).code).not.toBe(0);
  await cluster.agent('b').kill('SIGKILL');
  expect((await cluster.muster('node', 'rm', 'b', '--yes', '--force')).code).toBe(0);
  await cluster.nodeIs(id, 'b', 'crashed');
  await cluster.api.put(`pushy/jobs/${id}/abort`);
  await cluster.jobIs(id, 'aborted');
  await until('the other to be free', async () => (await cluster.nodeState('a'))?.availability === 'available');
});
