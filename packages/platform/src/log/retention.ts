import type { Clock } from '@muster/base';
import type { Schema, Store } from '@muster/store';
import type { Transaction } from 'kysely';
import { Upkeep } from '../upkeep/upkeep.js';
import { LOG_LIMITS } from './log-limits.js';
import type { Recorder } from './recorder.js';

export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly recorder: Recorder;
  /** Events older than this go. */
  readonly keepMs: number;
  /** Beyond this size the oldest events go, however young. */
  readonly maxBytes: number;
  readonly openSubjects: readonly OpenSubjects[];
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

type Trx = Transaction<Schema>;

/**
 * The subjects of one layer that are not finished, such as push jobs that run: their events stay, however old. Read in
 * the transaction that deletes.
 */
export type OpenSubjects = (trx: Trx) => Promise<readonly string[]>;

interface Pruned {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Keeps the log bounded in age and size. What the feed of an open subject shows stays: it is replayed from its start,
 * and events are numbered on from the last one.
 */
export class Retention {
  readonly #deps: RetentionDeps;
  /** What the log held when it was last counted, and how much had been recorded by then. */
  #counted = 0;
  #countedAt = 0;
  #prunedThrough = 0;
  readonly #upkeep: Upkeep;
  /** Before so much is recorded, the size calls for no other round. */
  #lookAt = 0;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
    const { clock, recorder } = deps;
    const failed = (error: unknown): void => {
      this.#rest();
      deps.failed(error);
    };
    this.#upkeep = new Upkeep({ clock, pauseMs: LOG_LIMITS.pruneEveryMs, round: () => this.prune(), failed });
    recorder.onStored(() => this.#look());
  }

  /** Position after which nothing was pruned. */
  get prunedThrough(): number {
    return this.#prunedThrough;
  }

  /** Bytes of all events that are kept. */
  get size(): number {
    return this.#counted + this.#deps.recorder.bytes - this.#countedAt;
  }

  async load(): Promise<void> {
    const mark = await this.#deps.store.read
      .selectFrom('event_marks')
      .select('position')
      .where('name', '=', 'pruned')
      .executeTakeFirst();
    this.#prunedThrough = mark?.position ?? 0;
    await this.#count();
  }

  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /** One round, in transactions of bounded size. @throws MusterError `store_unavailable` */
  async prune(): Promise<void> {
    const { clock, keepMs, maxBytes } = this.#deps;
    const oldest = clock.now() - keepMs;
    while (!this.#upkeep.stopped && (await this.#delete(oldest, Number.POSITIVE_INFINITY)).rows > 0);
    if (this.size <= maxBytes) return;
    // Organizations that were deleted took their events with them.
    await this.#count();
    if (this.size <= maxBytes) return;
    // With some room, so that the log may grow for a while: a transaction for each event that is too many costs too much.
    let excess = this.size - maxBytes + this.#room;
    while (!this.#upkeep.stopped && excess > 0) {
      const { rows, bytes } = await this.#delete(Number.MAX_SAFE_INTEGER, excess);
      if (rows === 0) break;
      excess -= bytes;
    }
    this.#rest();
  }

  /** The oldest rows whose events are all from before `before`, until so many bytes are gone. */
  async #delete(before: number, excess: number): Promise<Pruned> {
    const { store, openSubjects } = this.#deps;
    const known = this.#prunedThrough;
    const deleting = store.transact(async (trx) => {
      const open = await Promise.all(openSubjects.map((of) => of(trx)));
      const rows = await oldestRows(trx, new Set(open.flat()), before, Math.min(excess, LOG_LIMITS.pruneBytes));
      if (rows.length === 0) return { rows: 0, bytes: 0 };
      const firsts = rows.map(({ first }) => first);
      const through = rows.reduce((greatest, { last }) => Math.max(greatest, last), this.#prunedThrough);
      // Before they are gone: whoever reads meanwhile must not take what is missing for all there was.
      this.#prunedThrough = through;
      await trx.deleteFrom('event_log').where('first', 'in', firsts).execute();
      await trx
        .insertInto('event_marks')
        .values({ name: 'pruned', position: through })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ position: through }))
        .execute();
      return { rows: rows.length, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) };
    });
    const pruned = await deleting.catch((error: unknown) => {
      // Nothing is gone.
      this.#prunedThrough = known;
      throw error;
    });
    this.#counted -= pruned.bytes;
    return pruned;
  }

  /** What cannot be pruned is not tried again with each event. */
  #rest(): void {
    this.#lookAt = this.#deps.recorder.bytes + this.#room;
  }

  /** Bytes between two rounds that the size calls for. */
  get #room(): number {
    return Math.min(LOG_LIMITS.pruneBytes, this.#deps.maxBytes / 8);
  }

  /** The size is kept to whatever the rate: a fast publisher fills a disk in less than a pause. */
  #look(): void {
    const { recorder, maxBytes } = this.#deps;
    if (recorder.bytes >= this.#lookAt && this.size > maxBytes) this.#upkeep.hurry();
  }

  async #count(): Promise<void> {
    const { store, recorder } = this.#deps;
    const recorded = recorder.bytes;
    const { bytes } = await store.read
      .selectFrom('event_log')
      .select((row) => row.fn.sum<number | null>('bytes').as('bytes'))
      .executeTakeFirstOrThrow();
    this.#counted = Number(bytes ?? 0);
    this.#countedAt = recorded;
  }
}

interface PrunableRow {
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
}

/** Rows of subjects that are not open, oldest first: as many as one transaction deletes. */
async function oldestRows(trx: Trx, open: ReadonlySet<string>, before: number, bytes: number): Promise<PrunableRow[]> {
  const prunable: PrunableRow[] = [];
  let size = 0;
  let after: { readonly at: number; readonly first: number } | null = null;
  for (;;) {
    const rows = await rowsFrom(trx, after, before);
    for (const { at_last: at, first, last, subject, bytes: length } of rows) {
      after = { at, first };
      if (subject !== null && open.has(subject)) continue;
      prunable.push({ first, last, bytes: length });
      size += length;
      if (size >= bytes || prunable.length === LOG_LIMITS.pruneRows) return prunable;
    }
    if (rows.length < LOG_LIMITS.pruneRows) return prunable;
  }
}

function rowsFrom(trx: Trx, after: { readonly at: number; readonly first: number } | null, before: number) {
  let rows = trx
    .selectFrom('event_log')
    .select(['first', 'last', 'bytes', 'at_last', 'subject'])
    .where('at_last', '<', before);
  if (after !== null) {
    rows = rows.where(({ eb, refTuple, tuple }) => eb(refTuple('at_last', 'first'), '>', tuple(after.at, after.first)));
  }
  return rows.orderBy('at_last').orderBy('first').limit(LOG_LIMITS.pruneRows).execute();
}
