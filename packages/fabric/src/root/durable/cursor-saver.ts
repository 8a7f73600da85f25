import type { Clock, Timer } from '@muster/base';
import type { FabricLog } from '../../log.js';
import type { Cursor, CursorKey, Cursors } from '../ports.js';

/** Acknowledgements without a receipt wait so long, to be saved together. */
const DELAY_MS = 100;
/** Pause after a save that failed. */
const RETRY_MS = 1000;

/** A subscription whose cursor is to be saved. */
export interface Saved {
  readonly key: CursorKey;
  /** The cursor at the moment when it is saved. */
  cursor(): Cursor;
}

interface Waiter {
  done(): void;
  failed(error: unknown): void;
}

/**
 * Saves cursors: many at once, and one save at a time. Of a cursor that changes meanwhile only the newest state is
 * saved.
 */
export class CursorSaver {
  readonly #cursors: Cursors;
  readonly #clock: Clock;
  readonly #log: FabricLog;
  #dirty = new Map<string, Saved>();
  /** The cursors in the save that is under way. */
  #saving = new Map<string, Saved>();
  #waiters: Waiter[] = [];
  #timer: Timer | null = null;
  #busy = false;
  #stopped = false;

  constructor(cursors: Cursors, clock: Clock, log: FabricLog) {
    this.#cursors = cursors;
    this.#clock = clock;
    this.#log = log;
  }

  /** Saves its cursor some time soon. */
  note(saved: Saved): void {
    this.#dirty.set(keyOf(saved.key), saved);
    this.#arm(DELAY_MS);
  }

  /** Saves its cursor now. Resolves when it is durable. Rejects with `store_unavailable`: it is tried again then. */
  save(saved: Saved): Promise<void> {
    this.#dirty.set(keyOf(saved.key), saved);
    return this.#soon();
  }

  /** Resolves when everything that is noted is durable. Rejects with `store_unavailable`. */
  settle(): Promise<void> {
    return this.#dirty.size > 0 || this.#busy ? this.#soon() : Promise.resolve();
  }

  /** The last attempt: resolves when everything that is noted is durable. Rejects with `store_unavailable`. */
  async stop(): Promise<void> {
    try {
      await this.settle();
    } finally {
      this.#stopped = true;
      this.#timer?.cancel();
    }
  }

  /** What is noted of a subscription need not be saved any more; a save that is under way may still write it. */
  forget(key: CursorKey): void {
    this.#dirty.delete(keyOf(key));
    this.#saving.delete(keyOf(key));
  }

  #soon(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ done: resolve, failed: reject });
      if (!this.#busy) void this.#run();
    });
  }

  #arm(delayMs: number): void {
    if (!this.#busy && !this.#stopped) this.#timer ??= this.#clock.after(delayMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const saving = this.#dirty;
    const waiters = this.#waiters;
    this.#saving = saving;
    this.#dirty = new Map();
    this.#waiters = [];
    this.#busy = true;
    let pauseMs = DELAY_MS;
    try {
      if (saving.size > 0) await this.#cursors.save([...saving.values()].map((saved) => saved.cursor()));
      for (const waiter of waiters) waiter.done();
    } catch (error) {
      this.#log.warn({ err: error, cursors: saving.size }, 'durable subscriptions could not be saved; trying again');
      for (const [key, saved] of saving) if (!this.#dirty.has(key)) this.#dirty.set(key, saved);
      for (const waiter of waiters) waiter.failed(error);
      pauseMs = RETRY_MS;
    }
    this.#busy = false;
    this.#saving = new Map();
    if (this.#waiters.length > 0) void this.#run();
    else if (this.#dirty.size > 0) this.#arm(pauseMs);
  }
}

/** A text that is different for each durable subscription. */
export function keyOf({ org, principal, kind, name }: CursorKey): string {
  return `${org} ${principal} ${kind} ${name}`;
}
