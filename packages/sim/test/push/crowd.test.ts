import { expect, test } from 'vitest';
import { ORG } from '../../src/push/node-request.js';
import { HOST } from '../../src/push/scenario.js';
import { World } from '../../src/push/world.js';

/** How soon many agents are there again after their server was away, in virtual time. */

const NODES = 60;
const PATIENCE_MS = 300_000;
const AWAY_MS = 120_000;
/** Transport, commits, and the turns of the server. */
const SLACK_MS = 3_000;
/** What an agent takes for the interval as long as no server has told it. */
const UNTOLD_INTERVAL_MS = 15_000;

const SEEDS = [1, 2, 3, 4, 5, 6];

async function until(world: World, holds: () => boolean): Promise<void> {
  await world.settle();
  const latest = world.timeline.now + PATIENCE_MS;
  while (!holds()) if (!(await world.step(latest))) throw new Error('waited for long enough');
}

async function pass(world: World, ms: number): Promise<void> {
  const end = world.timeline.now + ms;
  while (world.timeline.now < end && (await world.step(end)));
}

const intervalOf = (world: World) => world.scenario.config.heartbeat.interval * 1000;

/** Agents of our own; deployed clients have rules of their own. */
function allIdle(world: World): boolean {
  const names = world.nodes.filter(({ plan }) => plan.dialect === 'native').map(({ plan }) => plan.name);
  expect(names.length).toBeGreaterThan(NODES / 4);
  return world.servers.answering.some(({ owners }) =>
    names.every((name) => owners.ownerOf(ORG.id, name)?.kind === 'idle'),
  );
}

test.each(SEEDS)(
  'agents that were started while the server was away are available two intervals after it is there (seed %d)',
  async (seed) => {
    const world = await World.create(seed, { servers: 1, nodes: NODES });
    for (const place of world.nodes) world.startAgent(place);
    await world.settle();
    await pass(world, AWAY_MS);
    const back = world.timeline.now;
    void world.servers.start(HOST);
    await until(world, () => allIdle(world));
    expect(world.timeline.now - back).toBeLessThanOrEqual(2 * UNTOLD_INTERVAL_MS + SLACK_MS);
    expect(world.violation).toBeNull();
    world.close();
  },
);

test.each(SEEDS)(
  'a server that is stopped and started again finds its idle nodes within two intervals (seed %d)',
  async (seed) => {
    const world = await World.create(seed, { servers: 1, nodes: NODES });
    for (const place of world.nodes) world.startAgent(place);
    void world.servers.start(HOST);
    await until(world, () => allIdle(world));
    const [place] = world.servers.places;
    if (place === undefined) throw new Error('no server runs');
    await Promise.all([world.servers.stop(place), until(world, () => place.server === null)]);
    const back = world.timeline.now;
    void world.servers.start(HOST);
    await until(world, () => allIdle(world));
    expect(world.timeline.now - back).toBeLessThanOrEqual(2 * intervalOf(world) + SLACK_MS);
    expect(world.violation).toBeNull();
    world.close();
  },
);
