import type { Run } from '../kernel/explore.js';
import { Violation } from '../kernel/violation.js';
import { TreeChaos } from './chaos.js';
import type { Follower } from './follower.js';
import type { ClientPlace } from './places.js';
import { ORGS, type TreeFault } from './plan.js';
import type { Publication } from './truth.js';
import { type TreeOptions, TreeWorld } from './world.js';

/** After the faults everybody is connected within this time: heart-beats, pauses and attempts of all levels. */
const RECOVERY_MS = 120_000;
/** For an event to reach everybody when all is well. */
const DELIVERY_MS = 5_000;
/** Timers at rest: of its own, and for each connection. */
const TIMERS = { own: 10, connection: 4 };

export interface TreeResult extends Run {
  readonly faults: ReadonlyMap<TreeFault, number>;
}

/** One run: a tree, faults, calm, and events that must reach exactly whom they are for. Deterministic in `seed`. */
export async function simulateTree(seed: number, options: TreeOptions = {}): Promise<TreeResult> {
  const world = await TreeWorld.create(seed, options);
  const began = world.timeline.now;
  let recoveredMs = 0;
  let chaos: TreeChaos | null = null;
  try {
    const { clients, faults, relays } = world.plan;
    const tree = [...relays, ...clients].map(({ name, parent, org }) => `${name}<${parent ?? 'root'} ${org}`);
    world.trace.say(() => `seed ${seed}: ${tree.join(', ')}; faults: ${faults.join(', ') || 'none'}`);
    world.startRoot();
    await world.settle();
    for (const place of world.relays) world.startRelay(place);
    for (const place of world.clients) world.startClient(place);
    chaos = new TreeChaos(world);
    const calmAt = began + world.plan.chaosMs;
    while (world.violation === null && (await world.step(calmAt))) chaos.between();
    chaos.stop();
    recoveredMs = await recover(world);
    await probe(world);
    checkRest(world);
  } finally {
    world.close();
  }
  return {
    seed,
    recoveredMs,
    work: {
      events: world.truth.size,
      deliveries: followers(world).reduce((sum, { received }) => sum + received.size, 0),
    },
    outcomes: tally(world),
    faults: chaos.made,
    ...world.ended(),
  };
}

/** Faults stop; everybody is connected, and what they asked for is served, within a bound. */
async function recover(world: TreeWorld): Promise<number> {
  const from = world.timeline.now;
  const until = from + RECOVERY_MS;
  // Who is connected may believe so only because it has not noticed yet that it is not.
  const settledMs = 3 * world.plan.heartBeatMs + world.plan.sendMs;
  let wellFrom: number | null = null;
  while (world.violation === null) {
    world.startRoot();
    for (const place of world.relays) world.startRelay(place);
    for (const place of world.clients) readAgain(world, place);
    if (unwell(world).length > 0) wellFrom = null;
    else wellFrom ??= world.timeline.now;
    if (wellFrom !== null && world.timeline.now - wellFrom >= settledMs) return wellFrom - from;
    if (await world.step(until)) continue;
    world.report(new Violation('recovery', `after ${RECOVERY_MS / 1000} s: ${unwell(world).join(', ')}`));
  }
  return 0;
}

/** Every program runs, and reads and settles what its place has. */
function readAgain(world: TreeWorld, place: ClientPlace): void {
  world.startClient(place);
  place.client?.readAll(place.durables);
  for (const program of place.client?.reading ?? []) program.settle();
}

function unwell(world: TreeWorld): string[] {
  const found: string[] = [];
  if (world.root?.root == null || world.isFrozen(world.root.process)) found.push('the root is not there');
  for (const { plan, relay } of world.relays)
    if (relay?.state !== 'serving') found.push(`${plan.name} is ${relay?.state}`);
  for (const { plan, client, durables } of world.clients) {
    if (client === null || !client.connected) found.push(`${plan.name} is not connected`);
    for (const { follower } of client?.following ?? []) {
      if (!follower.ready) found.push(`${follower.name} is not served`);
      else if (follower.missing() !== null) found.push(`${follower.name} is behind`);
    }
    if (client?.reading.size !== durables.size) found.push(`${plan.name} does not read everything`);
    for (const { idle, reader, ready } of client?.reading ?? []) {
      if (!ready) found.push(`${reader.name} is not served`);
      else if (!idle || reader.missing() !== undefined) found.push(`${reader.name} is behind`);
    }
  }
  for (const { host, pending } of world.network.ends) if (pending > 0) found.push(`${host.name} has bytes to send`);
  return found;
}

/** The strictest check of health: an event of everybody, which reaches exactly the matching subscriptions, once. */
async function probe(world: TreeWorld): Promise<void> {
  if (world.violation !== null) return;
  world.trace.say(() => '--- the last events ---');
  const published: Publication[] = [];
  for (const { client } of world.clients) {
    const publication = client?.publish(true, null, 0) ?? null;
    if (publication !== null) published.push(publication);
  }
  const until = world.timeline.now + DELIVERY_MS;
  while (world.violation === null && (await world.step(until)));
  if (world.violation !== null) return;
  const fail = (detail: string): void => world.report(new Violation('recovery', detail));
  for (const { id, client, state, logged } of published) {
    if (logged === null || state !== 'confirmed') {
      fail(`event ${id} of ${client} is ${state}, ${logged === null ? 'not logged' : 'logged'}`);
      continue;
    }
    for (const follower of followers(world)) {
      // That it comes once, and to nobody else, is looked at when it comes.
      if (follower.wants(logged) && !follower.received.has(logged.position))
        fail(`${follower.name} misses event ${id}`);
    }
  }
  for (const follower of followers(world)) {
    const missing = follower.missing();
    if (missing !== null) fail(`${follower.name} misses position ${missing.position}`);
  }
  for (const { client } of world.clients) {
    for (const { reader } of client?.reading ?? []) {
      const missing = reader.missing();
      if (missing !== undefined) fail(`${reader.name} misses position ${missing.position}`);
      else if (!reader.done) fail(`${reader.name} has not settled everything`);
    }
  }
  for (const { id, dueMs, state, logged } of world.truth.publications.values()) {
    if (state !== 'confirmed' || logged !== null) continue;
    if (dueMs === null || dueMs < world.timeline.now - DELIVERY_MS) fail(`event ${id} was confirmed and is not logged`);
  }
}

/** Nothing is left over of what has gone. */
function checkRest(world: TreeWorld): void {
  if (world.violation !== null) return;
  const fail = (detail: string): void => world.report(new Violation('growth', detail));
  const expect = (what: string, found: number, wanted: number): void => {
    if (found !== wanted) fail(`${what}: ${found}, not ${wanted}`);
  };
  const below = (name: string | null) => {
    const clients = world.clients.filter(({ plan }) => plan.parent === name);
    const relays = world.relays.filter(({ plan }) => plan.parent === name);
    const own = clients.flatMap(({ client }) => [...(client?.following ?? [])]);
    const reading = (of: string | null): number =>
      world.clients
        .filter(({ plan }) => plan.parent === of)
        .reduce((sum, { client }) => sum + (client?.reading.size ?? 0), 0);
    const passed = (of: string | null): number =>
      reading(of) +
      world.clients
        .filter(({ plan }) => plan.parent === of)
        .flatMap(({ client }) => [...(client?.following ?? [])])
        .filter(({ follower }) => follower.plan.from !== null).length +
      world.relays.filter(({ plan }) => plan.parent === of).reduce((sum, { plan }) => sum + passed(plan.name), 0);
    const fromRelays = relays.reduce((sum, { plan }) => sum + passed(plan.name), 0);
    return {
      clients: clients.length + relays.length,
      subscriptions: own.length + reading(name) + relays.length + fromRelays,
      passedUp: passed(name),
    };
  };
  const { root } = world;
  if (root?.root != null) {
    expect('clients of the root', root.root.clients().length, below(null).clients);
    const subscriptions = root.root.clients().reduce((sum, each) => sum + each.subscriptions, 0);
    expect('subscriptions at the root', subscriptions, below(null).subscriptions);
    expect('events that wait at the root', root.root.pending(), 0);
    const timers = TIMERS.own + TIMERS.connection * below(null).clients;
    if (root.process.timers > timers) fail(`${root.process.timers} timers in the root at rest`);
  }
  for (const { plan, relay } of world.relays) {
    if (relay === null) continue;
    const status = relay.status();
    const wanted = below(plan.name);
    expect(`clients of ${plan.name}`, status.clients, wanted.clients);
    expect(`subscriptions at ${plan.name}`, status.subscriptions, wanted.subscriptions);
    expect(`subscriptions passed up by ${plan.name}`, status.passed_up, wanted.passedUp);
    expect(`events unconfirmed at ${plan.name}`, status.unconfirmed, 0);
    const timers = TIMERS.own + TIMERS.connection * (wanted.clients + 1);
    if (relay.process.timers > timers) fail(`${relay.process.timers} timers in ${plan.name} at rest`);
  }
  for (const end of world.network.ends) {
    if (!end.peer.open) fail(`the end of a connection at ${end.host.name}, once with ${end.peer.host.name}`);
  }
}

function followers(world: TreeWorld): Follower[] {
  return world.clients.flatMap(({ client }) => [...(client?.following ?? [])].map(({ follower }) => follower));
}

function tally(world: TreeWorld): Map<string, number> {
  const outcomes = new Map<string, number>();
  const count = (what: string): void => void outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
  for (const { state, logged } of world.truth.publications.values()) {
    const outcome = `${state}${logged === null ? ', not logged' : ''}`;
    count(outcome);
    world.coverage.reach(`event: ${outcome}`);
  }
  for (const org of ORGS) if (world.truth.of(org).length > 0) count(org);
  return outcomes;
}
