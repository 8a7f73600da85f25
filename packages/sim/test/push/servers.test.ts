import type { PushJobSpec } from '@muster/push';
import { expect, test } from 'vitest';
import { ORG } from '../../src/push/node-request.js';
import { HOST } from '../../src/push/scenario.js';
import { World } from '../../src/push/world.js';

const PATIENCE_MS = 120_000;
/** Longer than any agent takes to judge its server offline. */
const AWAY_MS = 60_000;
/** Of a world whose nodes all have our own agents: deployed ones tell nothing twice. */
const NATIVE_SEED = 2;
const JOB = '1'.repeat(32);

async function until(world: World, holds: () => boolean): Promise<void> {
  await world.settle();
  const latest = world.timeline.now + PATIENCE_MS;
  while (!holds()) if (!(await world.step(latest))) throw new Error('waited for long enough');
}

const idle = (world: World) => (): boolean =>
  world.servers.answering.some(({ owners }) =>
    world.nodes.every(({ plan }) => owners.ownerOf(ORG.id, plan.name)?.kind === 'idle'),
  );

/** All nodes, each of which runs it for 20 s. */
function work(world: World): PushJobSpec {
  return {
    command: `work ${JOB} 20000 0 0`,
    options: {},
    capture: false,
    quorum: world.nodes.length,
    runTimeout: 100,
    votingTimeout: 20,
    ackTimeout: null,
    nodeTimeout: null,
    concurrency: null,
    startRate: null,
    maxFailures: null,
    target: 'test',
  };
}

test('what one server began, another one that stands by for it ends, from the store they share', async () => {
  const world = await World.create(1, { servers: 2, nodes: 3 });
  const names = world.nodes.map(({ plan }) => plan.name);
  void world.servers.start(HOST);
  for (const place of world.nodes) world.startAgent(place);
  await until(world, idle(world));
  void world.startJob(JOB, work(world), names);
  await until(world, () => world.commands.count === names.length);

  const first = world.servers.places.find(({ server }) => server !== null);
  if (first === undefined) throw new Error('no server runs');
  while (first.server !== null || world.servers.running.length === 0) {
    for (const place of world.servers.places) world.servers.crash(place);
    void world.servers.start(HOST);
    await world.settle();
  }
  await until(world, () => world.ledger.durable.jobs.get(JOB)?.phase === 'finished');

  expect(world.violation).toBeNull();
  expect(world.ledger.durable.jobs.get(JOB)?.status).toBe('complete');
  expect(world.commands.count).toBe(names.length);
  world.close();
});

test('however far a job is when its server dies, and however long it is away: all nodes run it, each once', async () => {
  const stored = new Set<string>();
  for (let steps = 1; steps <= 60; steps++) {
    const world = await World.create(NATIVE_SEED, { servers: 1, nodes: 3 });
    expect(world.nodes.map(({ plan }) => plan.dialect)).toEqual(['native', 'native', 'native']);
    const names = world.nodes.map(({ plan }) => plan.name);
    void world.servers.start(HOST);
    for (const place of world.nodes) world.startAgent(place);
    await until(world, idle(world));
    void world.startJob(JOB, work(world), names);
    for (let step = 0; step < steps; step++) await world.step(world.timeline.now + PATIENCE_MS);
    for (const place of world.servers.places) world.servers.crash(place);
    const job = world.ledger.durable.jobs.get(JOB);
    if (job === undefined) continue;
    stored.add(job.phase);
    // Agents discard what they have not begun when they hear nothing for this long.
    const back = world.timeline.now + AWAY_MS;
    await until(world, () => world.timeline.now >= back);
    void world.servers.start(HOST);
    await until(world, () => world.ledger.durable.jobs.get(JOB)?.phase === 'finished');

    expect(world.violation).toBeNull();
    const ends = names.map((name) => world.ledger.durable.jobNodes.get(JOB)?.get(name)?.status);
    expect(ends, `killed after ${steps} steps`).toEqual(names.map(() => 'succeeded'));
    expect(world.commands.count).toBe(names.length);
    world.close();
  }
  expect([...stored]).toEqual(['new', 'voting', 'running']);
});
