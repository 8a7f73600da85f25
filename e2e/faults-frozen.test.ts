import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** A process stands still (SIGSTOP: a paused virtual machine, a machine that swaps itself to death) and goes on (SIGCONT). */
const NAMES = ['a', 'b', 'c'];
/**
 * Seconds. A busy machine lets whole processes wait, too, and who waits for three intervals is missed as if it were
 * frozen: it must take longer than that to miss one that nobody froze.
 */
const HEARTBEAT_INTERVAL = 2;
/** Being missed takes three intervals, coming back several more. */
const LONGEST_MS = 120_000;
vi.setConfig({ testTimeout: LONGEST_MS, hookTimeout: LONGEST_MS });

let cluster: Cluster;
let held: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start({ heartbeatInterval: HEARTBEAT_INTERVAL });
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands, grace: 1 }])));
});
beforeEach(async () => {
  held.reset();
  await cluster.available(...NAMES);
});
afterEach(() => {
  for (const agent of cluster.agents.values()) agent.signal('SIGCONT');
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

test('an agent frozen while it runs a job is crashed once it is missed, the others succeed; thawed, its command is killed and it takes jobs again', async () => {
  const id = await cluster.startJob({ command: 'held', nodes: NAMES });
  await cluster.nodeCountIn(id, 'running', NAMES.length);
  cluster.agent('b').signal('SIGSTOP');
  await cluster.nodeIs(id, 'b', 'crashed');
  held.release();
  const job = await cluster.jobIs(id, 'complete');
  expect({ crashed: job.nodes.crashed, succeeded: [...(job.nodes.succeeded ?? [])].sort() }).toEqual({
    crashed: ['b'],
    succeeded: ['a', 'c'],
  });
  cluster.agent('b').signal('SIGCONT');
  await cluster.available('b');
  expect(cluster.commands()).toEqual([]);
  const next = await cluster.startJob({ command: 'quick', nodes: ['b'] });
  expect((await cluster.jobIs(next, 'complete')).nodes).toEqual({ succeeded: ['b'] });
  expect((await cluster.job(id)).nodes.crashed).toEqual(['b']);
});

test('an agent frozen before it voted is unavailable and never starts, also not when it is thawed', async () => {
  cluster.agent('b').signal('SIGSTOP');
  const id = await cluster.startJob({ command: 'held', nodes: NAMES, quorum: 2 });
  await cluster.nodeIs(id, 'b', 'unavailable');
  await cluster.nodeCountIn(id, 'running', 2);
  cluster.agent('b').signal('SIGCONT');
  await cluster.available('b');
  held.release();
  const job = await cluster.jobIs(id, 'complete');
  expect(job.nodes.unavailable).toEqual(['b']);
  expect(held.runs).toEqual(['a', 'c']);
});

test('a server frozen while commands run and end: nothing is lost when it goes on', async () => {
  const id = await cluster.startJob({ command: 'held', nodes: NAMES });
  await cluster.nodeCountIn(id, 'running', NAMES.length);
  cluster.server.signal('SIGSTOP');
  held.release();
  await until('the commands to end', () => cluster.commands().length === 0);
  await cluster.agent('a').logged(/the server is offline/);
  cluster.server.signal('SIGCONT');
  const job = await cluster.jobIs(id, 'complete');
  expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);
  expect(held.runs).toEqual(NAMES);
});
