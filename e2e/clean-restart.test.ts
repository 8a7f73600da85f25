import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';

/** Seconds; the default. Half of it is more than enough for a few nodes to be back. */
const INTERVAL = 15;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ heartbeatInterval: INTERVAL });
  await cluster.startAgents({ a: { commands: { quick: 'true' } }, b: { commands: { quick: 'true' } } });
});
afterAll(() => cluster.stop());

test('a server that is stopped as it should and started again has its nodes back long before the next heartbeat is due', async () => {
  await cluster.killServer('SIGTERM');
  await cluster.restartServer();
  await cluster.nodesAre(2, 'available', ({ availability }) => availability === 'available', (INTERVAL / 2) * 1000);
  const id = await cluster.startJob({ command: 'quick', nodes: ['a', 'b'] });
  expect([...((await cluster.jobIs(id, 'complete')).nodes.succeeded ?? [])].sort()).toEqual(['a', 'b']);
});
