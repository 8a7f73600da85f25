import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { SilentNetwork } from './support/silent-network.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** Packets between agents and server are dropped without a word, in both directions, and pass again later. */
const NAMES = ['a', 'b'];
/** Seconds. Three missed ones make a node down. */
const INTERVAL = 0.5;
/** docs/guarantees.md: 3 missed intervals, and one until the next look. */
const NOTICED_MS = 4 * INTERVAL * 1000 + 3_000;

let cluster: Cluster;
let held: HeldCommand;
let network: readonly SilentNetwork[];

beforeAll(async () => {
  const [http, heartbeat, command] = await Promise.all([1, 2, 3].map(() => SilentNetwork.open()));
  if (http === undefined || heartbeat === undefined || command === undefined) throw new Error('no network');
  network = [http, heartbeat, command];
  const tcp = (port: number): string => `tcp://127.0.0.1:${port}`;
  cluster = await Cluster.start({
    heartbeatInterval: INTERVAL,
    agentUrl: `http://127.0.0.1:${http.port}`,
    flags: ['--heartbeat-advertise', tcp(heartbeat.port), '--command-advertise', tcp(command.port)],
  });
  network.forEach((part, n) => part.leadTo(cluster.ports[n] ?? 0));
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands, grace: 1 }])));
});
beforeEach(async () => {
  held.reset();
  await cluster.available(...NAMES);
});
afterEach(() => heal());
neverHarmed(() => cluster);
afterAll(async () => {
  await cluster.stop();
  for (const part of network) await part.close();
});

const cut = (): void => network.forEach((part) => part.cut());
/** The connections are as dead as they would be after minutes: whatever was in flight is lost. */
const reset = (): void => network.forEach((part) => part.reset());
const heal = (): void => network.forEach((part) => part.heal());

async function runningEverywhere(): Promise<string> {
  const id = await cluster.startJob({ command: 'held', nodes: NAMES });
  await cluster.nodeCountIn(id, 'running', NAMES.length);
  return id;
}

const downEverywhere = async (): Promise<void> => {
  for (const name of NAMES) {
    await until(`${name} to be down`, async () => (await cluster.nodeState(name))?.status === 'down', NOTICED_MS);
  }
};

test('the network is really cut: nothing is refused, nothing arrives', async () => {
  cut();
  const asked = fetch(`http://127.0.0.1:${network[0]?.port}/_status`);
  await downEverywhere();
  expect(await Promise.race([asked, 'no answer'])).toBe('no answer');
  heal();
  expect((await asked).status).toBe(200);
});

describe('cut for less than the offline threshold', () => {
  test('a running job does not notice', async () => {
    const id = await runningEverywhere();
    cut();
    held.release();
    await until('the commands to end', () => cluster.commands().length === 0);
    heal();
    const job = await cluster.jobIs(id, 'complete');
    expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);
    expect(held.runs).toEqual(NAMES);
  });
});

describe.each([
  ['what was in flight arrives late', heal],
  [
    'what was in flight is lost',
    () => {
      reset();
      heal();
    },
  ],
] as const)('cut for longer, then back; %s', (_, back) => {
  test('running nodes are crashed once they are missed, their commands are killed when they return, and they take jobs again', async () => {
    const id = await runningEverywhere();
    cut();
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ crashed: NAMES });
    back();
    await cluster.available(...NAMES);
    expect(cluster.commands()).toEqual([]);
    const next = await cluster.startJob({ command: 'quick', nodes: NAMES });
    expect([...((await cluster.jobIs(next, 'complete')).nodes.succeeded ?? [])].sort()).toEqual(NAMES);
    expect((await cluster.job(id)).nodes).toEqual({ crashed: NAMES });
  });

  test('a job submitted meanwhile finds them down and starts nowhere', async () => {
    cut();
    await downEverywhere();
    const id = await cluster.startJob({ command: 'held', nodes: NAMES });
    const job = await cluster.jobIs(id, 'quorum_failed');
    expect([...(job.nodes.unavailable ?? [])].sort()).toEqual(NAMES);
    back();
    await cluster.available(...NAMES);
    expect(held.runs).toEqual([]);
  });
});

test('cut while voting: nobody starts, and nobody starts later', async () => {
  cut();
  const id = await cluster.startJob({ command: 'held', nodes: NAMES });
  const job = await cluster.jobIs(id, 'quorum_failed');
  expect([...(job.nodes.unavailable ?? [])].sort()).toEqual(NAMES);
  heal();
  await cluster.available(...NAMES);
  expect(held.runs).toEqual([]);
});

test('every connection is reset at once: nothing is lost', async () => {
  const id = await runningEverywhere();
  reset();
  held.release();
  const job = await cluster.jobIs(id, 'complete');
  expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);
  expect(held.runs).toEqual(NAMES);
});
