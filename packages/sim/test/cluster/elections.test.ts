import { ok } from 'node:assert/strict';
import { type Clock, ManualClock, type Timer } from '@muster/base';
import { CLUSTER_LIMITS, clusterMigrations, Election, type Fence } from '@muster/platform/cluster';
import { guard, insert, type Lane, type MemoryDatabase, openMemory, type Store } from '@muster/store';
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';

/**
 * Servers of one cluster in virtual time. They are killed, stopped in order, drained, frozen, cut off from the database and from each other, and their
 * clocks are set; meanwhile each that believes to lead goes on storing, as a leader does, behind its fence.
 */

const SERVERS = 3;
const LOG = pino({ level: 'silent' });
const STEP_MS = 250;
/** The database takes so long for each write: whoever is frozen meanwhile writes late. */
const WRITE_MS = 400;
/** A leader that is not frozen has learnt within so long that another one has taken over, or that it cannot learn it. */
const LEARNS_MS = CLUSTER_LIMITS.leaseMs + CLUSTER_LIMITS.isolatedMs + 4 * CLUSTER_LIMITS.lookMs;
/** After the last fault: an isolated leader ends, its lease ends, another looks, and those that ended are back. */
const CALM_MS = CLUSTER_LIMITS.isolatedMs + 3 * CLUSTER_LIMITS.leaseMs;
const MIGRATIONS = [clusterMigrations];

const fenceGuard = guard('leases', { name: 'text', holder: 'text', epoch: 'integer' }, ['name']);
/** What leaders store: a row of a table that is there. */
const ledger = insert('cluster_drained', { name: 'text', since: 'integer' });

type Fault =
  | {
      readonly kind: 'kill' | 'stop' | 'freeze' | 'thaw' | 'cut' | 'join' | 'drain' | 'undrain';
      readonly server: number;
    }
  | { readonly kind: 'set clock'; readonly server: number; readonly byMs: number }
  /** Of the next server that is elected, before it has written that down. */
  | { readonly kind: 'freeze the elected' }
  | { readonly kind: 'database away' | 'database back' | 'others silent' | 'others answer' };

const server = fc.nat(SERVERS - 1);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill' as const, 'stop' as const, 'freeze' as const, 'thaw' as const), server }),
  fc.record({ kind: fc.constantFrom('cut' as const, 'join' as const), server }),
  fc.record({ kind: fc.constantFrom('drain' as const, 'undrain' as const), server }),
  fc.record({ kind: fc.constant('set clock' as const), server, byMs: fc.integer({ min: -3_600_000, max: 3_600_000 }) }),
  fc.record({
    kind: fc.constantFrom(
      'database away' as const,
      'database back' as const,
      'others silent' as const,
      'others answer' as const,
      'freeze the elected' as const,
    ),
  }),
);
const course = fc.array(fc.tuple(fault, fc.nat(12_000)), { maxLength: 25 });

/** The clock of a machine that can be frozen: time passes, and nothing happens until it goes on. */
class MachineClock implements Clock {
  frozen = false;
  skewMs = 0;
  readonly #time: ManualClock;
  #held: (() => void)[] = [];

  constructor(time: ManualClock) {
    this.#time = time;
  }

  now(): number {
    return this.#time.now() + this.skewMs;
  }

  monotonic(): number {
    return this.#time.monotonic();
  }

  after(delayMs: number, work: () => void): Timer {
    return this.#time.after(delayMs, () => {
      if (this.frozen) this.#held.push(work);
      else work();
    });
  }

  thaw(): void {
    this.frozen = false;
    for (const work of this.#held.splice(0)) work();
  }
}

class World {
  readonly time = new ManualClock();
  readonly machines = Array.from({ length: SERVERS }, (_, index) => new Machine(this, index));
  away = false;
  silent = false;
  freezesElected = false;
  /** Epochs of what was stored, in its order. */
  readonly stored: number[] = [];
  readonly database: MemoryDatabase;
  #incarnations = 0;

  constructor(database: MemoryDatabase) {
    this.database = database;
  }

  incarnation(): string {
    this.#incarnations += 1;
    return `i${this.#incarnations}`;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.time.advance(STEP_MS);
      for (const machine of this.machines) {
        machine.resignIfDrained();
        machine.store();
      }
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
      this.check();
    }
  }

  /** Nobody can have taken over while the time of a leader is not over. Looked at after each step, for which `expect` is too slow. */
  check(): void {
    const sure = this.machines.filter((machine) => machine.isSure);
    ok(sure.length <= 1, `${sure.length} servers that may be sure to lead`);
    const newest = Math.max(...this.machines.map(({ epoch }) => epoch ?? 0));
    for (const machine of this.machines) {
      const late = machine.leads && !machine.clock.frozen && (machine.epoch ?? 0) < newest;
      machine.lateSince = late ? (machine.lateSince ?? this.time.monotonic()) : null;
      const lateMs = this.time.monotonic() - (machine.lateSince ?? this.time.monotonic());
      ok(lateMs <= LEARNS_MS, `a server leads beside another one for ${lateMs} ms`);
    }
  }
}

class Machine {
  readonly clock: MachineClock;
  cut = false;
  drained = false;
  /** Since when it leads though another one does. */
  lateSince: number | null = null;
  #running: { readonly store: Store; readonly election: Election; fence: Fence | null; written: number } | null = null;

  readonly world: World;
  readonly index: number;

  constructor(world: World, index: number) {
    this.world = world;
    this.index = index;
    this.clock = new MachineClock(world.time);
  }

  get isSure(): boolean {
    const state = this.#running?.election.state;
    return state?.role === 'leader' && this.world.time.monotonic() < state.actUntil;
  }

  get leads(): boolean {
    return this.#running?.election.state.role === 'leader' && this.#running.fence !== null;
  }

  get epoch(): number | null {
    const state = this.#running?.election.state;
    return state?.role === 'leader' ? state.epoch : 0;
  }

  #broken(): boolean {
    return this.cut || this.world.away;
  }

  start(): void {
    if (this.#running !== null) return;
    const { world, clock } = this;
    const failing = (lane: Lane): Lane => ({
      write: async (id, batch) => {
        const elected = batch.some(({ rows }) => rows.some(({ name }) => name === 'cluster:fence'));
        if (elected && world.freezesElected) {
          world.freezesElected = false;
          clock.frozen = true;
        }
        await new Promise<void>((resolve) => void clock.after(WRITE_MS, resolve));
        return this.#broken() ? { kind: 'failed', error: new Error('away') } : lane.write(id, batch);
      },
      transact: async (id, work) =>
        this.#broken() ? { kind: 'failed', error: new Error('away') } : lane.transact(id, work),
      probe: async (id) => (this.#broken() ? { kind: 'failed', error: new Error('away') } : lane.probe(id)),
      outcome: (id) => lane.outcome(id),
      close: () => lane.close(),
    });
    const store = world.database.connect({ clock, log: LOG }, failing, async () => {
      if (this.#broken()) throw new Error('away');
    });
    const election = new Election({
      ...{ store, clock, log: LOG, incarnation: world.incarnation() },
      eligible: async () => (this.drained ? 'it is drained' : null),
      others: async () => {
        const others = world.machines.filter((other) => other !== this && other.#running !== null);
        const answering = world.silent || this.cut ? [] : others.filter(({ clock: { frozen } }) => !frozen);
        const known = answering.map(({ epoch }) => epoch ?? 0);
        return { epoch: known.length === 0 ? null : Math.max(...known), asked: others.length };
      },
      elected: (fence) => {
        if (this.#running !== null) this.#running.fence = fence;
      },
      // Its supervisor starts it again.
      deposed: () => {
        this.#end();
        clock.after(1000, () => this.start());
      },
    });
    this.#running = { store, election, fence: null, written: 0 };
    election.start();
  }

  kill(): void {
    this.#end();
    this.clock.after(2000, () => this.start());
  }

  async stopInOrder(): Promise<void> {
    const running = this.#running;
    if (running === null || this.clock.frozen) return;
    this.#running = null;
    void running.election.stop().then(() => running.election.resign());
    this.clock.after(2000, () => this.start());
  }

  /** It goes on as a follower. */
  resignIfDrained(): void {
    const running = this.#running;
    if (running === null || running.fence === null || !this.drained || this.clock.frozen || this.#broken()) return;
    running.fence = null;
    void running.election.resign();
  }

  /** As a leader does, whether it still is one or not. */
  store(): void {
    const running = this.#running;
    if (running === null || running.fence === null || this.clock.frozen) return;
    const { fence, store, election } = running;
    running.written += 1;
    const row = ledger({ name: `${fence.epoch} ${running.written}`, since: 0 });
    store
      .commit([fenceGuard({ ...fence }), row], () => void this.world.stored.push(fence.epoch))
      .then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof Error && error.name === 'GuardFailed') election.fencedOff();
        },
      );
  }

  #end(): void {
    const running = this.#running;
    this.#running = null;
    if (running !== null) void running.election.stop();
  }
}

async function happens(world: World, what: Fault): Promise<void> {
  if (!('server' in what)) {
    if (what.kind === 'freeze the elected') world.freezesElected = true;
    else if (what.kind === 'database away' || what.kind === 'database back') world.away = what.kind === 'database away';
    else world.silent = what.kind === 'others silent';
    return;
  }
  const machine = world.machines[what.server] as Machine;
  switch (what.kind) {
    case 'kill':
      return machine.kill();
    case 'stop':
      return machine.stopInOrder();
    case 'freeze':
      machine.clock.frozen = true;
      return;
    case 'thaw':
      return machine.clock.thaw();
    case 'cut':
    case 'join':
      machine.cut = what.kind === 'cut';
      return;
    case 'drain':
    case 'undrain':
      machine.drained = what.kind === 'drain';
      return;
    case 'set clock':
      machine.clock.skewMs = what.byMs;
  }
}

/** More of them for whoever has a night: see docs/guarantees.md. */
const COURSES = Number(process.env.MUSTER_TEST_COURSES ?? 2000);

const { seed } = fc.readConfigureGlobal();

test.each([1, 2, 3, 4])(
  `whatever happens to the servers of a cluster, what leaders store is of rising epochs, and one leads in the end: part %i of ${COURSES} courses`,
  async (part) => {
    let changes = 0;
    let deposed = 0;
    await fc.assert(
      fc.asyncProperty(course, async (events) => {
        const world = new World(await openMemory(new ManualClock(), MIGRATIONS));
        for (const machine of world.machines) machine.start();
        await world.pass(2000);
        for (const [event, ms] of events) {
          await happens(world, event);
          await world.pass(ms);
        }
        world.away = false;
        world.silent = false;
        world.freezesElected = false;
        for (const machine of world.machines) {
          machine.cut = false;
          machine.drained = false;
          machine.clock.thaw();
        }
        await world.pass(CALM_MS);
        expect(world.stored).toEqual([...world.stored].sort((a, b) => a - b));
        expect(world.machines.filter(({ leads }) => leads)).toHaveLength(1);
        const [latest = 0] = world.stored.slice(-1);
        changes += new Set(world.stored).size - 1;
        deposed += world.machines.some(({ leads, epoch }) => leads && epoch !== latest) ? 1 : 0;
        world.database.close();
      }),
      { numRuns: COURSES / 4, ...(seed !== undefined && { seed: seed + part }) },
    );
    // The courses are not so calm that nothing is shown, and the leader of the end is the one that stores.
    expect(changes).toBeGreaterThan(50);
    expect(deposed).toBe(0);
  },
  COURSES * 200,
);
