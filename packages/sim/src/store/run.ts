import { MusterError } from '@muster/base';
import { append, GuardFailed, openMemory, type Store, type Write } from '@muster/store';
import type { Run, RunOptions } from '../kernel/explore.js';
import { Random } from '../kernel/random.js';
import { Stage } from '../kernel/stage.js';
import { Process, Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import { type Call, Calls, type Kind } from './calls.js';
import { Disk } from './disk.js';
import { SimulatedLane, type Weather } from './lane.js';

/** After the faults everything is settled within this time: the longest pause between attempts, and what waits. */
const RECOVERY_MS = 60_000;
/** A request is answered within this time, whatever the database does: as long as a commit may be under way, and its fate. */
const ANSWER_MS = 60_000;

/**
 * Callers there are: each waits for its answer before it asks again. More would only show that a slow database, which
 * takes a few rows at a time, does not take a thousand in time.
 */
const CALLERS = 500;

/** Every row takes a number. */
const makeRow = append(
  'organizations',
  { id: 'text' },
  { rows: (rows) => rows, bytes: () => 1, numbers: () => 1, numbered: [] },
);
const writesOf = ({ rows, numbers }: Call, process: Process): Write[] =>
  rows.map((row) =>
    makeRow({ id: String(row) }, (number) => {
      if (process.alive) numbers.push(number);
    }),
  );

/** The shipped group commit over a database that is as bad as any, in processes that are killed and closed. */
class StoreWorld extends Stage {
  readonly random: Random;
  readonly disk = new Disk();
  readonly calls = new Calls(this.disk, this.report);
  readonly weather: Weather;
  readonly usualMs: number;
  life = 0;
  process = new Process('store', this.timeline);
  store: Store | null = null;
  closing = false;
  readonly #open: (process: Process, random: Random) => Store;
  #row = 0;

  constructor(seed: number, open: (world: StoreWorld, process: Process, random: Random) => Store, options: RunOptions) {
    super(options.print ?? null);
    this.random = new Random(seed);
    this.usualMs = this.random.pick([0, 1, 10, 100]);
    this.weather = { delayMs: this.usualMs, failing: false, lost: 0 };
    this.#open = (process, random) => open(this, process, random);
  }

  protected override check(): void {
    for (const call of this.calls.all) {
      if (call.state !== 'waiting' || call.kind === 'persist' || call.life !== this.life || this.closing) continue;
      if (this.timeline.now - call.atMs <= ANSWER_MS) continue;
      call.state = 'refused';
      this.report(new Violation('answered in time', `${call.kind} of rows ${call.rows.join(' ')}`));
    }
  }

  /** Calls of this process that are not answered. */
  get waiting(): number {
    return this.calls.all.filter(({ life, state }) => life === this.life && state === 'waiting').length;
  }

  start(): void {
    this.life += 1;
    this.closing = false;
    this.process = new Process(`store ${this.life}`, this.timeline);
    this.trace.say(() => `process ${this.life} starts`);
    this.store = this.#open(this.process, this.random.fork());
  }

  kill(): void {
    this.trace.say(() => `process ${this.life} is killed`);
    this.process.die();
    this.store = null;
  }

  async close(): Promise<void> {
    const { life, store } = this;
    if (store === null || this.closing) return;
    this.trace.say(() => `process ${life} closes its store`);
    this.closing = true;
    const well = store.health().ok;
    await store.close();
    if (this.life !== life || this.store !== store) return;
    this.coverage.reach(well ? 'store: closed' : 'store: closed in an outage');
    if (this.calls.all.some((call) => call.life === life && call.state === 'waiting')) {
      this.report(new Violation('closed', `process ${life} has closed its store, and somebody waits`));
    }
    this.kill();
  }

  /** One caller hands something in. */
  call(kind: Kind): void {
    const { calls, life, store, timeline, process } = this;
    if (store === null) return;
    const rows = Array.from({ length: this.random.pick([1, 1, 2, 5]) }, () => ++this.#row);
    const call: Call = { kind, rows, life, atMs: timeline.now, state: 'waiting', early: false, numbers: [] };
    calls.all.push(call);
    this.trace.say(() => `${kind} of rows ${rows.join(' ')}`);
    this.#hand(store, call).then(
      () => {
        if (process.alive) calls.resolved(call);
      },
      (error: unknown) => {
        if (!process.alive) return;
        this.trace.say(() => `${kind} of rows ${rows.join(' ')} is refused: ${String(error)}`);
        if (error instanceof GuardFailed) this.report(new Violation('guards', 'there are none'));
        else if (error instanceof MusterError && error.code !== 'store_unavailable') {
          this.report(new Violation('errors', error.message));
        }
        calls.rejected(call, this.closing);
      },
    );
  }

  #hand(store: Store, call: Call): Promise<void> {
    const { calls, process } = this;
    switch (call.kind) {
      case 'commit':
        return store.commit(writesOf(call, process), () => {
          if (process.alive) calls.toldEarly(call);
        });
      case 'persist':
        return store.persist(writesOf(call, process));
      case 'transact':
        return store.transact(async (_trx, write) => write(writesOf(call, process)));
    }
  }
}

/** One run: callers and faults, calm, and a look at what is on the disk. Deterministic in `seed`. */
export async function simulateStore(seed: number, options: RunOptions = {}): Promise<Run> {
  const database = await openMemory(new Process('setup', new Timeline()).clock, []);
  const world = new StoreWorld(
    seed,
    ({ coverage, disk, report, timeline, trace, weather }, process, random) => {
      const say = (details: object, message: string): void => trace.say(() => `${message} ${JSON.stringify(details)}`);
      const lane = new SimulatedLane({
        timeline,
        process,
        random,
        disk,
        weather,
        reach: (what) => coverage.reach(what),
        wrong: (rule, detail) => report(new Violation(rule, detail)),
      });
      const limits = { batchRows: random.pick([5, 20, 5_000]) };
      return database.connect({ clock: process.clock, log: { warn: say, error: say }, limits }, () => lane);
    },
    options,
  );
  const { random, timeline, weather } = world;
  const calmAt = timeline.now + (options.chaosMs ?? random.integer(5_000, 40_000));
  const later = (meanMs: number, work: () => void): void => {
    timeline.after(random.around(meanMs), null, () => {
      if (timeline.now >= calmAt) return;
      work();
      later(meanMs, work);
    });
  };
  world.start();
  later(random.pick([30, 100, 400]), () => {
    for (let count = random.pick([1, 1, 3, 12]); count > 0 && world.waiting < CALLERS; count--) {
      world.call(random.chance(0.05) ? 'transact' : random.pick(['commit', 'persist']));
    }
  });
  later(random.pick([500, 3_000]), () => fault(world));
  while (world.violation === null && (await world.step(calmAt)));
  weather.failing = false;
  weather.lost = 0;
  weather.delayMs = world.usualMs;
  world.trace.say(() => '--- the faults stop ---');
  if (world.store === null) world.start();
  const from = timeline.now;
  while (world.violation === null && world.waiting > 0 && (await world.step(from + RECOVERY_MS)));
  const recoveredMs = timeline.now - from;
  if (world.waiting > 0) world.report(new Violation('recovery', `after ${RECOVERY_MS / 1000} s somebody still waits`));
  // What is under way in the database ends, whoever has begun it.
  while (world.violation === null && (await world.step(timeline.now + RECOVERY_MS)));
  world.calls.check();
  world.process.die();
  database.close();
  return {
    seed,
    recoveredMs,
    work: { calls: world.calls.all.length },
    outcomes: tally(world.calls.all),
    faults: new Map(),
    ...world.ended(),
  };
}

function fault(world: StoreWorld): void {
  const { coverage, random, timeline, weather } = world;
  const forMs = random.around(random.pick([300, 3_000, 8_000]));
  const undo = (work: () => void): void => void timeline.after(forMs, null, work);
  const kind = random.pick(['fails', 'slow', 'loses answers', 'killed', 'closed']);
  coverage.reach(`fault: ${kind}`);
  world.trace.say(() => `the database: ${kind}`);
  const again = (): void => {
    if (world.store === null) world.start();
  };
  switch (kind) {
    case 'fails':
      weather.failing = true;
      return undo(() => {
        weather.failing = false;
      });
    case 'slow':
      weather.delayMs = random.pick([500, 6_000]);
      return undo(() => {
        weather.delayMs = world.usualMs;
      });
    case 'loses answers':
      weather.lost = random.between(0.1, 0.7);
      return undo(() => {
        weather.lost = 0;
      });
    case 'killed':
      if (world.store !== null) world.kill();
      return undo(again);
    case 'closed':
      void world.close().then(() => undo(again));
      return;
  }
}

function tally(calls: readonly Call[]): Map<string, number> {
  const outcomes = new Map<string, number>();
  for (const { kind, state } of calls) outcomes.set(`${kind} ${state}`, (outcomes.get(`${kind} ${state}`) ?? 0) + 1);
  return outcomes;
}
