import type { Batch, Lane, Outcome } from '@muster/store';
import type { Random } from '../kernel/random.js';
import type { Process, Timeline } from '../kernel/timeline.js';
import type { Disk } from './disk.js';

/** How the database does; changed while it runs. */
export interface Weather {
  /** Milliseconds that each half of a transaction takes, at most. */
  delayMs: number;
  /** Every transaction fails. */
  failing: boolean;
  /** Share of transactions whose answer is lost. */
  lost: number;
}

export interface LaneWorld {
  readonly timeline: Timeline;
  readonly process: Process;
  readonly random: Random;
  readonly disk: Disk;
  readonly weather: Weather;
  readonly reach: (what: string) => void;
  /** The database found something that no store may do. */
  readonly wrong: (rule: string, detail: string) => void;
}

/** A row that the database refuses for good, by its number. */
export const isPoison = (row: number): boolean => row % 211 === 0;

const TROUBLE = new Error('the database is in trouble');

/**
 * A database below the group commit, as bad as any: it is slow, fails, loses its answers, and dies between the halves of
 * a transaction, of which then nothing is there. Rows are numbers, and what is refused is known by them.
 */
export class SimulatedLane implements Lane {
  readonly #world: LaneWorld;
  /** What became of transactions whose answer was lost. */
  readonly #fates = new Map<number, Outcome>();
  #busy = false;
  #last = 0;

  constructor(world: LaneWorld) {
    this.#world = world;
  }

  write(id: number, batch: Batch): Promise<Outcome> {
    return this.#transaction(id, numbersOf(batch));
  }

  async transact(id: number, work: Parameters<Lane['transact']>[1]): Promise<Outcome> {
    // The work of this scenario does nothing but hand in rows.
    return this.#transaction(id, numbersOf(await work({} as never)));
  }

  async outcome(id: number): Promise<Outcome> {
    await this.#pass();
    if (this.#world.weather.failing) return { kind: 'unknown', error: TROUBLE };
    return this.#fates.get(id) ?? { kind: 'unknown', error: TROUBLE };
  }

  probe(id: number): Promise<Outcome> {
    return this.#transaction(id, []);
  }

  async close(): Promise<void> {
    if (this.#busy) this.#world.wrong('one at a time', 'closed during a transaction');
  }

  async #transaction(id: number, rows: readonly number[]): Promise<Outcome> {
    const { disk, process, random, reach, weather, wrong } = this.#world;
    if (this.#busy) wrong('one at a time', `transaction ${id} beside another one`);
    if (id <= this.#last) wrong('numbered', `transaction ${id} after ${this.#last}`);
    this.#last = id;
    this.#busy = true;
    await this.#pass();
    // Torn: what was written so far goes with the process.
    const torn = !process.alive && rows.length > 0;
    if (torn) reach('store: torn by a crash');
    const outcome = torn ? { kind: 'failed' as const, error: TROUBLE } : this.#judge(rows);
    if (outcome.kind === 'stored') {
      const twice = disk.commit(rows);
      if (twice !== null) wrong('once', `row ${twice} is stored twice`);
    }
    this.#busy = false;
    const lost = random.chance(weather.lost) && outcome.kind !== 'refused';
    if (lost) {
      reach(`store: unknown, and ${outcome.kind}`);
      this.#fates.set(id, outcome);
      return { kind: 'unknown', error: TROUBLE };
    }
    await this.#pass();
    return outcome;
  }

  #judge(rows: readonly number[]): Outcome {
    const { disk, reach, weather } = this.#world;
    if (weather.failing) {
      reach('store: failed');
      return { kind: 'failed', error: TROUBLE };
    }
    if (!rows.some(isPoison)) return { kind: 'stored', first: disk.next };
    reach(rows.length === 1 ? 'store: refused alone' : 'store: refused among others');
    return { kind: 'refused', error: new Error('the database refuses this row') };
  }

  /** In the database: the process may die meanwhile. */
  #pass(): Promise<void> {
    const { random, timeline, weather } = this.#world;
    return new Promise((resolve) => void timeline.after(random.between(0, weather.delayMs), null, resolve));
  }
}

function numbersOf(batch: Batch): number[] {
  return batch.flatMap(({ rows }) => rows.map(({ id }) => Number(id)));
}
