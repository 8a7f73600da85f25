import type { Batch, Lane, Outcome } from '@muster/store';
import type { Random } from './random.js';
import type { Process, Timeline } from './timeline.js';

/** How the disk of the server does; changed while it runs. */
export interface DiskConditions {
  /** Until the database has a commit, and until the server hears of it. */
  delayMs: number;
  /** Every commit fails. */
  failing: boolean;
  /** Share of commits after which the connection is lost: stored or not, the server must find out. */
  unknown: number;
}

const TROUBLE = new Error('the disk is in trouble');

/** A write lane that takes its time and fails; a crash between its halves leaves the commit stored and not told. */
export class FaultyLane implements Lane {
  readonly #inner: Lane;
  readonly #conditions: DiskConditions;
  readonly #timeline: Timeline;
  readonly #process: Process;
  readonly #random: Random;
  /** For the counts of what runs have reached. */
  readonly #reach: (what: string) => void;
  /** Told what is durable, in order, and the first of the numbers that it was given. */
  readonly #stored: (batch: Batch, first: number) => void;
  /** What became of transactions whose outcome was lost. */
  readonly #lost = new Map<number, Outcome>();

  constructor(
    inner: Lane,
    around: {
      conditions: DiskConditions;
      timeline: Timeline;
      process: Process;
      random: Random;
      reach: (what: string) => void;
    },
    stored: (batch: Batch, first: number) => void,
  ) {
    this.#inner = inner;
    this.#conditions = around.conditions;
    this.#timeline = around.timeline;
    this.#process = around.process;
    this.#random = around.random;
    this.#reach = around.reach;
    this.#stored = stored;
  }

  async write(id: number, batch: Batch): Promise<Outcome> {
    await this.#pause();
    if (this.#conditions.failing) {
      this.#reach('commit: fails');
      await this.#pause();
      return { kind: 'failed', error: TROUBLE };
    }
    const cut = this.#random.chance(this.#conditions.unknown);
    if (cut && this.#random.chance(0.5)) {
      this.#lost.set(id, { kind: 'failed', error: TROUBLE });
      this.#reach('commit: unknown, and not stored');
      return { kind: 'unknown', error: TROUBLE };
    }
    const outcome = await this.#inner.write(id, batch);
    if (outcome.kind === 'stored') this.#stored(batch, outcome.first);
    if (cut) {
      this.#lost.set(id, outcome);
      this.#reach('commit: unknown, and stored');
      return { kind: 'unknown', error: TROUBLE };
    }
    await this.#pause();
    return outcome;
  }

  async transact(id: number, work: Parameters<Lane['transact']>[1]): Promise<Outcome> {
    await this.#pause();
    if (this.#conditions.failing) return { kind: 'failed', error: TROUBLE };
    let batch: Batch = [];
    const outcome = await this.#inner.transact(id, async (trx) => {
      batch = await work(trx);
      return batch;
    });
    if (outcome.kind === 'stored') this.#stored(batch, outcome.first);
    return outcome;
  }

  async outcome(id: number): Promise<Outcome> {
    await this.#pause();
    if (this.#conditions.failing) return { kind: 'unknown', error: TROUBLE };
    return this.#lost.get(id) ?? { kind: 'unknown', error: TROUBLE };
  }

  async probe(id: number): Promise<Outcome> {
    await this.#pause();
    return this.#conditions.failing ? { kind: 'failed', error: TROUBLE } : this.#inner.probe(id);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  #pause(): Promise<void> {
    const { delayMs } = this.#conditions;
    if (delayMs === 0 && this.#process.alive) return Promise.resolve();
    return new Promise((resolve) => {
      this.#timeline.after(this.#random.between(0, delayMs), this.#process, resolve);
    });
  }
}
