import type { Clock, Timer } from '@muster/base';
import { GuardFailed, type Store, type Write } from '@muster/store';
import { handle } from '../handling.js';
import type { Limits } from '../limits.js';
import type { BrokerLog, ConsumeOptions, Consumer, Handler } from '../types.js';
import { EmbeddedDelivery, type Place } from './delivery.js';
import { type MessageRow, type NewMessage, waiting, writes } from './repository.js';

export interface ConsumerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
  readonly holder: string;
  deadLetters(row: MessageRow): Promise<readonly NewMessage[]>;
  /** Something became free in the queue. */
  freed(queue: string): void;
  reaches(holder: string): boolean;
  handedOver(holder: string): void;
  /** Something was settled and may be deleted. */
  settled(): void;
  stopped(consumer: EmbeddedConsumer): void;
}

/** Takes messages of one queue in hand whenever it is woken, as many as there are free slots. */
export class EmbeddedConsumer implements Consumer {
  readonly queue: string;
  readonly #deps: ConsumerDeps;
  readonly #handler: Handler;
  readonly #most: number;
  #slots: number;
  readonly #held = new Map<string, EmbeddedDelivery>();
  /** Looks for messages: once more after this time when it was woken meanwhile. */
  #taking: Promise<void> | null = null;
  #woken = false;
  #retry: Timer | undefined;
  #retryMs = 0;
  #stopped = false;
  readonly #place: Place;

  constructor(queue: string, options: ConsumeOptions, handler: Handler, deps: ConsumerDeps) {
    const { slots } = options;
    if (!(slots >= 1 && slots <= deps.limits.slots)) throw new RangeError(`slots are 1 to ${deps.limits.slots}`);
    this.queue = queue;
    this.#deps = deps;
    this.#handler = handler;
    this.#most = slots;
    this.#slots = slots;
    this.#place = {
      holder: deps.holder,
      persist: (made) => deps.store.persist(made),
      deadLetters: (row) => deps.deadLetters(row),
      reaches: (other) => deps.reaches(other),
      handedOver: (other) => deps.handedOver(other),
      over: (delivery, freed) => {
        if (this.#held.get(delivery.id) === delivery) this.#held.delete(delivery.id);
        deps.settled();
        for (const name of freed) deps.freed(name);
        this.wake();
      },
    };
  }

  get held(): number {
    return this.#held.size;
  }

  setSlots(slots: number): void {
    if (!(slots >= 0 && slots <= this.#most)) throw new RangeError(`slots are 0 to ${this.#most}`);
    this.#slots = slots;
    this.wake();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#retry?.cancel();
    await this.#taking;
    await Promise.all([...this.#held.values()].map((delivery) => delivery.giveBack()));
    this.#deps.stopped(this);
  }

  /** There may be something in the queue. */
  wake(): void {
    this.#woken = true;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = null;
      if (this.#woken && !this.#stopped) this.wake();
    });
  }

  /** A message that this process has in hand already, by another's doing. False: it is of no delivery here. */
  attach(row: MessageRow): boolean {
    const delivery = this.#held.get(row.id);
    delivery?.attach(row);
    return delivery !== undefined;
  }

  has(row: MessageRow): boolean {
    return this.#held.get(row.id)?.has(row.position) ?? false;
  }

  async #take(): Promise<void> {
    while (this.#woken && !this.#stopped) {
      this.#woken = false;
      const free = this.#slots - this.#held.size;
      if (free <= 0) return;
      try {
        const { store } = this.#deps;
        const rows = await waiting(store, this.queue, free);
        const taken = await this.#inHand(rows);
        this.#retryMs = 0;
        for (const row of taken) this.#deliver(row);
        // There may be more, and what others were faster to take is not all there is.
        if (rows.length === free || taken.length < rows.length) this.#woken = true;
      } catch (error) {
        this.#later(error);
        return;
      }
    }
  }

  /** Those that it got: others may have been faster. */
  async #inHand(rows: readonly MessageRow[]): Promise<readonly MessageRow[]> {
    if (rows.length === 0) return [];
    const { store, holder } = this.#deps;
    const take = (row: MessageRow): Write[] => writes.take(row.position, null, holder);
    try {
      await store.commit(rows.flatMap(take));
      return rows;
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error;
      const gone = new Set(error.failed.map(({ row }) => row.position));
      return this.#inHand(rows.filter(({ position }) => !gone.has(position)));
    }
  }

  #deliver(row: MessageRow): void {
    if (this.attach(row)) return;
    const delivery = new EmbeddedDelivery(row, this.#place);
    this.#held.set(row.id, delivery);
    // Stopped while it was taken: `stop` gives it back.
    if (!this.#stopped) handle(this.#handler, delivery, this.#deps.log);
  }

  #later(err: unknown): void {
    const { log, clock, limits } = this.#deps;
    this.#woken = false;
    if (this.#retryMs === 0) log.warn({ err, queue: this.queue }, 'no messages can be taken from a queue now');
    this.#retryMs = Math.min(Math.max(2 * this.#retryMs, limits.retryFirstMs), limits.retryMostMs);
    this.#retry?.cancel();
    this.#retry = clock.after(this.#retryMs, () => this.wake());
  }
}
