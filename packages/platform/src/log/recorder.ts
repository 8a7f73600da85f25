import type { Clock } from '@muster/base';
import { deleteSome, type Schema, type Store, type Write } from '@muster/store';
import type { Transaction } from 'kysely';
import { appendEvents, type EventPart, eventRows } from './event-chunk.js';
import { partsOf, type Recordable } from './log-rows.js';
import { type StoredEvent, storedEvents } from './stored-event.js';

export interface RecorderDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Of lines and body of an event together, as it travels. */
  readonly maxSize: number;
  /** A listener threw. */
  readonly failed: (error: unknown) => void;
}

type Trx = Transaction<Schema>;

/** Called within a transaction for the events of what it changes. */
export type RecordEvents = (events: readonly Recordable[]) => void;

/** Events that were handed to the store together. */
interface Ticket {
  readonly first: number;
  readonly at: number;
  recorded: readonly Recordable[];
  bytes: number;
  /** Made when they are told of. */
  stored: readonly StoredEvent[];
  state: 'waiting' | 'stored' | 'lost';
}

/**
 * Stores changes of state together with the events that tell of them, and tells the listeners once both are durable.
 *
 * An event gets its position when it is handed in. The store takes what is handed in, in order, so the log always holds
 * the events up to some position and none after it; listeners hear of them in the same order.
 */
export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #listeners = new Set<(events: readonly StoredEvent[]) => void>();
  /** In the order of positions; those before `#head` were told. */
  #tickets: Ticket[] = [];
  #head = 0;
  #next = 1;
  #last = 0;
  #bytes = 0;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  /** Goes on where the log ends. Before anything is recorded. */
  async load(): Promise<void> {
    const { read } = this.#deps.store;
    const log = await read
      .selectFrom('event_log')
      .select((row) => row.fn.max('last').as('last'))
      .executeTakeFirst();
    const mark = await read.selectFrom('event_marks').select('position').where('name', '=', 'given').executeTakeFirst();
    this.#last = Math.max(Number(log?.last ?? 0), mark?.position ?? 0);
    this.#next = this.#last + 1;
  }

  /** Position of the newest event that the listeners were told of. */
  get last(): number {
    return this.#last;
  }

  /** Bytes that went into the log since the start. */
  get bytes(): number {
    return this.#bytes;
  }

  /** As `Store.persist`. `at`: the time of the events; that of the clock unless given. */
  persist(writes: readonly Write[], events: readonly Recordable[], at?: number): Promise<void> {
    const { store } = this.#deps;
    if (events.length === 0) return store.persist(writes);
    const { ticket, parts } = this.#hand(events, at);
    return this.#settled(ticket, store.persist(together(writes, parts)));
  }

  /** As `Store.commit`. */
  commit(writes: readonly Write[], events: readonly Recordable[], at?: number): Promise<void> {
    const { store } = this.#deps;
    if (events.length === 0) return store.commit(writes);
    const { ticket, parts } = this.#hand(events, at);
    return this.#settled(ticket, store.commit(together(writes, parts)));
  }

  /** Events and nothing else. Answers them as they are stored. @param stored As in `Store.commit`. */
  async append(events: readonly Recordable[], stored?: () => void): Promise<readonly StoredEvent[]> {
    const { ticket, parts } = this.#hand(events);
    await this.#settled(ticket, this.#deps.store.commit(together([], parts), stored));
    return ticket.stored;
  }

  /**
   * As `Store.transact`. `work` calls `record`, any number of times, for at most `most` events; it may run again, and
   * then what it recorded before is forgotten.
   */
  transact<T>(most: number, work: (trx: Trx, record: RecordEvents) => Promise<T>): Promise<T> {
    const first = this.#next;
    const at = this.#deps.clock.now();
    this.#next += most;
    const ticket: Ticket = { first, at, recorded: [], bytes: 0, stored: [], state: 'waiting' };
    this.#tickets.push(ticket);
    const done = this.#deps.store.transact(async (trx) => {
      const recorded: Recordable[] = [];
      const result = await work(trx, (events) => void recorded.push(...events));
      if (recorded.length > most) throw new Error(`${recorded.length} events in a transaction that announced ${most}`);
      const parts = partsOf(recorded, first, at);
      for (const row of eventRows(parts)) await trx.insertInto('event_log').values(row).execute();
      ticket.recorded = recorded;
      ticket.bytes = sizeOf(parts);
      return result;
    });
    const kept = done.then((result) => {
      // Positions that are not used look like missing events. After a failure nobody knows whether they are in the log.
      if (this.#next === first + most) this.#next = first + ticket.recorded.length;
      return result;
    });
    return this.#settled(ticket, kept);
  }

  /** The listener is told of events once they are durable, in the order of their positions. Returns how to stop. */
  onStored(listener: (events: readonly StoredEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Rows of the log may go now: positions will not be given again all the same. Within the transaction that deletes. */
  async mark(trx: Trx): Promise<void> {
    const position = this.#next - 1;
    await trx
      .insertInto('event_marks')
      .values({ name: 'given', position })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ position }))
      .execute();
  }

  /** The history of an organization that was deleted goes, at most so many rows of it. True when none is left. */
  async forgetSome(trx: Trx, orgId: string, most: number): Promise<boolean> {
    await this.mark(trx);
    return deleteSome(trx, { table: 'event_log', key: ['first'], where: ['org_id', orgId], most });
  }

  #hand(events: readonly Recordable[], at = this.#deps.clock.now()): { ticket: Ticket; parts: readonly EventPart[] } {
    const first = this.#next;
    this.#next += events.length;
    const parts = partsOf(events, first, at);
    const ticket: Ticket = { first, at, recorded: events, bytes: sizeOf(parts), stored: [], state: 'waiting' };
    this.#tickets.push(ticket);
    return { ticket, parts };
  }

  #settled<T>(ticket: Ticket, done: Promise<T>): Promise<T> {
    return done.then(
      (result) => {
        ticket.state = 'stored';
        this.#tell();
        return result;
      },
      (error: unknown) => {
        ticket.state = 'lost';
        this.#tell();
        throw error;
      },
    );
  }

  /** As far as it is known what became of them: nobody hears of an event before an earlier one. */
  #tell(): void {
    for (;;) {
      const ticket = this.#tickets[this.#head];
      if (ticket === undefined || ticket.state === 'waiting') break;
      this.#head += 1;
      const { first, at, recorded } = ticket;
      if (ticket.state === 'lost' || recorded.length === 0) continue;
      ticket.stored = storedEvents(recorded, first, at, this.#deps.maxSize);
      this.#last = first + recorded.length - 1;
      this.#bytes += ticket.bytes;
      for (const listener of this.#listeners) {
        try {
          listener(ticket.stored);
        } catch (error) {
          this.#deps.failed(error);
        }
      }
    }
    // Cutting off the head each time would move all the others.
    if (this.#head * 2 > this.#tickets.length) {
      this.#tickets = this.#tickets.slice(this.#head);
      this.#head = 0;
    }
  }
}

function together(writes: readonly Write[], parts: readonly EventPart[]): Write[] {
  const all = [...writes];
  for (const part of parts) all.push(appendEvents(part));
  return all;
}

function sizeOf(parts: readonly EventPart[]): number {
  let bytes = 0;
  for (const { start, end } of parts) bytes += end - start;
  return bytes;
}
