import { GuardFailed, type Write } from '@muster/store';
import type { Death, Delivery, Headers, Settled } from '../types.js';
import { type MessageRow, type NewMessage, writes } from './repository.js';

/** What a delivery needs of its consumer. */
export interface Place {
  readonly holder: string;
  /** Stores it, however long the database is away. */
  persist(writes: readonly Write[]): Promise<void>;
  /** The rows of a message that is rejected, in other queues. */
  deadLetters(row: MessageRow): Promise<readonly NewMessage[]>;
  /** The delivery is over: its slot is free. `freed`: queues that have something to take since. */
  over(delivery: EmbeddedDelivery, freed: readonly string[]): void;
  /** Whether there can be a process of this name. */
  reaches(holder: string): boolean;
  handedOver(holder: string): void;
}

export class EmbeddedDelivery implements Delivery {
  readonly redelivered: boolean;
  readonly id: string;
  readonly queue: string;
  readonly exchange: string;
  readonly key: string;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly death: Death | null;
  /** The row that is in hand now, and others of the same message. */
  #rows: MessageRow[];
  #state: 'in hand' | 'settled' | 'given back' = 'in hand';
  readonly #place: Place;

  constructor(row: MessageRow, place: Place) {
    const { id, queue, exchange, key, headers, body, redelivered, diedIn } = row;
    this.id = id;
    this.queue = queue;
    this.exchange = exchange;
    this.key = key;
    this.headers = headers;
    this.redelivered = redelivered;
    this.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.death = diedIn === null ? null : { queue: diedIn, reason: 'rejected' };
    this.#rows = [row];
    this.#place = place;
  }

  has(position: number): boolean {
    return this.#rows.some((row) => row.position === position);
  }

  /** The same message has come again, because it was given back or published twice. */
  attach(row: MessageRow): void {
    if (this.has(row.position)) return;
    this.#rows.push(row);
    // What is settled with it was decided before: this one is done with besides. If that cannot be stored, it comes again.
    if (this.#state !== 'in hand') this.#store(writes.settle(row.position, this.#place.holder)).catch(() => undefined);
  }

  ack(): Promise<Settled> {
    return this.#settle((row) => writes.settle(row.position, this.#place.holder));
  }

  async reject(): Promise<Settled> {
    const [first] = this.#rows;
    const letters = first === undefined ? [] : await this.#place.deadLetters(first);
    return this.#settle(
      (row) => [...writes.settle(row.position, this.#place.holder), ...letters.map(writes.message)],
      letters.map(({ queue }) => queue),
    );
  }

  requeue(): Promise<Settled> {
    return this.#settle((row) => writes.giveBack(row.position, this.#place.holder), [this.queue]);
  }

  /** As `requeue`, when whoever handles it was not asked: its own settlement is late from now on. */
  async giveBack(): Promise<void> {
    if (this.#state !== 'in hand') return;
    const back = this.requeue();
    this.#state = 'given back';
    await back;
  }

  async handOver(holder: string): Promise<Settled | 'refused'> {
    if (!this.#place.reaches(holder)) return 'refused';
    const settled = await this.#settle((row) => writes.take(row.position, this.#place.holder, holder));
    this.#place.handedOver(holder);
    return settled;
  }

  async #settle(write: (row: MessageRow) => readonly Write[], freed: readonly string[] = []): Promise<Settled> {
    if (this.#state === 'given back') return 'lost';
    if (this.#state === 'settled') throw new Error(`the message ${this.id} was settled before`);
    this.#state = 'settled';
    try {
      const [first, ...others] = this.#rows;
      if (first === undefined) return 'lost';
      // Of copies of the message nothing is left.
      const copies = others.map((row) => this.#store(writes.settle(row.position, this.#place.holder)));
      const ends = await Promise.all([this.#store(write(first)), ...copies]);
      return ends.includes('settled') ? 'settled' : 'lost';
    } finally {
      this.#place.over(this, freed);
    }
  }

  async #store(made: readonly Write[]): Promise<Settled> {
    try {
      await this.#place.persist(made);
      return 'settled';
    } catch (error) {
      if (error instanceof GuardFailed) return 'lost';
      throw error;
    }
  }
}
