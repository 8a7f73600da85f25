import { expect, test } from 'vitest';
import { ORG } from '../../src/push/node-request.js';
import { HOST } from '../../src/push/scenario.js';
import { World } from '../../src/push/world.js';

const PATIENCE_MS = 120_000;
const JOB = '1'.repeat(32);

async function until(world: World, holds: () => boolean): Promise<void> {
  await world.settle();
  const latest = world.timeline.now + PATIENCE_MS;
  while (!holds()) if (!(await world.step(latest))) throw new Error('waited for long enough');
}

test('what one server began, another one that stands by for it ends, from the store they share', async () => {
  const world = await World.create(1, { servers: 2, nodes: 3 });
  const names = world.nodes.map(({ plan }) => plan.name);
  const idle = () =>
    world.servers.answering.some(({ owners }) => names.every((name) => owners.ownerOf(ORG.id, name)?.kind === 'idle'));
  void world.servers.start(HOST);
  for (const place of world.nodes) world.startAgent(place);
  await until(world, idle);
  const spec = {
    command: `work ${JOB} 20000 0 0`,
    options: {},
    capture: false,
    quorum: names.length,
    runTimeout: 100,
    votingTimeout: 20,
    ackTimeout: null,
    nodeTimeout: null,
    concurrency: null,
    startRate: null,
    maxFailures: null,
    target: 'test',
  };
  void world.startJob(JOB, spec, names);
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
