import type { Clock, Timer } from '@muster/base';
import { deleteSome, type HandIn, lastNumber, type Schema, type Store, type Write } from '@muster/store';
import type { Transaction } from 'kysely';
import { appendEvents } from './event-chunk.js';
import { InOrder } from './in-order.js';
import { partsOf, type Recordable } from './log-rows.js';
import { type StoredEvent, storedEvents } from './stored-event.js';

export interface RecorderDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Of lines and body of an event together, as it travels. */
  readonly maxSize: number;
  /** Of one that others may know this process does not: null when there is none of this id (any more). */
  readonly organizationName: (id: string) => Promise<string | null>;
  /** A listener threw, or what others recorded could not be read. */
  readonly failed: (error: unknown) => void;
}

/** Topic of the hints that somebody recorded something. */
const TOPIC = 'events';
/** Hints are at least so far apart. */
const HINT_MS = 10;

type Trx = Transaction<Schema>;

/** Called within a transaction for the events of what it changes. */
export type RecordEvents = (events: readonly Recordable[]) => void;

/**
 * Stores changes of state together with the events that tell of them, and tells the listeners once both are durable.
 *
 * An event gets its position in the transaction that stores it. Positions follow each other in the order of the commits,
 * so the log always holds the events up to some position and none after it; listeners hear of them in the same order.
 */
export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #listeners = new Set<(events: readonly StoredEvent[]) => void>();
  readonly #order: InOrder;
  #bytes = 0;
  #unfollow: (() => void) | null = null;
  #announces = false;
  #hint: Timer | undefined;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    const { store, clock, maxSize, organizationName, failed } = deps;
    const tell = (events: readonly StoredEvent[]): void => this.#tell(events);
    this.#order = new InOrder({ read: store.read, clock, maxSize, organizationName, tell, failed });
  }

  /** Goes on where the log ends. Before anything is recorded. */
  async load(): Promise<void> {
    this.#order.begin(await lastNumber(this.#deps.store.read, 'event_log'));
  }

  /** From now on the listeners hear also what other processes record in the same database, at once. */
  follow(): void {
    this.#order.follow();
    this.#unfollow ??= this.#deps.store.hints.listen(TOPIC, () => this.#order.look());
  }

  /** From now on other processes are told that there is something to read. */
  announce(): void {
    this.#announces = true;
  }

  stop(): void {
    this.#unfollow?.();
    this.#hint?.cancel();
    this.#order.stop();
  }

  /** Position of the newest event that the listeners were told of. */
  get last(): number {
    return this.#order.last;
  }

  /** Bytes that went into the log since the start. */
  get bytes(): number {
    return this.#bytes;
  }

  /** As `Store.persist`. `at`: the time of the events; that of the clock unless given. */
  persist(writes: readonly Write[], events: readonly Recordable[], at?: number): Promise<void> {
    return this.#deps.store.persist(this.#writes(events, at, { after: writes }));
  }

  /** As `Store.commit`. */
  commit(writes: readonly Write[], events: readonly Recordable[], at?: number): Promise<void> {
    return this.#deps.store.commit(this.#writes(events, at, { after: writes }));
  }

  /** Events and nothing else. Answers them as they are stored. @param stored As in `Store.commit`. */
  async append(events: readonly Recordable[], stored?: () => void): Promise<readonly StoredEvent[]> {
    let told: readonly StoredEvent[] = [];
    const tell = (all: readonly StoredEvent[]): void => {
      told = all;
    };
    await this.#deps.store.commit(this.#writes(events, undefined, { tell }), stored);
    return told;
  }

  /**
   * As `Store.transact`. `work` calls `record`, any number of times; it may run again, and then what it recorded before
   * is forgotten. What it hands to `write` is stored at the end.
   */
  transact<T>(work: (trx: Trx, record: RecordEvents, write: HandIn) => Promise<T>): Promise<T> {
    const at = this.#deps.clock.now();
    return this.#deps.store.transact((trx, write) => work(trx, (events) => write(this.#writes(events, at)), write));
  }

  /** The listener is told of events once they are durable, in the order of their positions. Returns how to stop. */
  onStored(listener: (events: readonly StoredEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The history of an organization that was deleted goes, at most so many rows of it. True when none is left. */
  forgetSome(trx: Trx, orgId: string, most: number): Promise<boolean> {
    return deleteSome(trx, { table: 'event_log', key: ['first'], where: ['org_id', [orgId]], most });
  }

  /** What appends the events, after other writes, and tells of them: `tell` before the listeners. */
  #writes(
    events: readonly Recordable[],
    at = this.#deps.clock.now(),
    { after = [], tell }: { after?: readonly Write[]; tell?: (events: readonly StoredEvent[]) => void } = {},
  ): Write[] {
    const writes = [...after];
    const parts = partsOf(events, at);
    const bytes = parts.reduce((sum, { start, end }) => sum + end - start, 0);
    const told = (first: number): void => {
      const stored = storedEvents(events, first, at, this.#deps.maxSize);
      this.#bytes += bytes;
      tell?.(stored);
      this.#order.own(first, stored);
      if (this.#announces) this.#announce();
    };
    // What is handed in together is stored together: its positions follow that of its first event.
    for (const part of parts) writes.push(appendEvents(part, part === parts[0] ? told : undefined));
    return writes;
  }

  #announce(): void {
    const { clock, store } = this.#deps;
    this.#hint ??= clock.after(HINT_MS, () => {
      this.#hint = undefined;
      store.hints.send(TOPIC, '');
    });
  }

  #tell(events: readonly StoredEvent[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(events);
      } catch (error) {
        this.#deps.failed(error);
      }
    }
  }
}
