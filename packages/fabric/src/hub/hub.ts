import { type Entry, type Expression, type Group, type IndexStats, SelectorIndex } from '@muster/selector';
import { Delivery } from '../event/delivery.js';
import type { LoggedEvent } from '../event/event.js';
import type { FabricMetrics } from '../metrics.js';
import type { FlushScheduler } from '../outbound/flush-scheduler.js';
import type { RawFrame } from '../stomp/raw-frame.js';

/** A subscription, as the hub sees it: takes the events that match. */
export interface Receiver {
  /** Called for one subscription after the other, so it must be quick. It may subscribe, unsubscribe and send. */
  take(delivery: Delivery): void;
}

export type Registration = Entry<Receiver>;

/** One event in so many is timed: looking at the clock can cost as much as finding the subscriptions. */
const TIMED = 64;

/** The subscriptions of one organization: finds those that an event matches and hands it to them. */
export class Hub {
  readonly #index = new SelectorIndex<Receiver>();
  readonly #scheduler: FlushScheduler;
  readonly #metrics: FabricMetrics;
  readonly #delivery = new Delivery();

  constructor(flush: FlushScheduler, metrics: FabricMetrics) {
    this.#scheduler = flush;
    this.#metrics = metrics;
  }

  /** Subscriptions. */
  get size(): number {
    return this.#index.size;
  }

  add(selector: Expression, receiver: Receiver): Registration {
    return this.#index.add(selector, receiver);
  }

  /** Removing what is removed already does nothing. */
  remove(registration: Registration): void {
    this.#index.remove(registration);
  }

  /** Hands an event to everybody it is for (B-4), once for each of their subscriptions (B-10). */
  deliver(event: LoggedEvent): void {
    this.#delivery.show(event);
    this.#match();
  }

  /**
   * The same of one that comes from upstream.
   *
   * @param position Its `message-id`.
   * @param raw Its frame, if the tail is all of it but the first header.
   */
  deliverFromUpstream(bytes: Uint8Array, start: number, end: number, position: number, raw: RawFrame | null): void {
    this.#delivery.showTail(bytes, start, end, position, raw);
    this.#match();
  }

  stats(): IndexStats {
    return this.#index.stats();
  }

  /** Made once: a closure for each event would cost as much as the match. */
  readonly #deliverToGroup = ({ subscribers }: Group<Receiver>): void => {
    this.#metrics.deliveries += subscribers.length;
    for (const receiver of subscribers) receiver.take(this.#delivery);
  };

  #match(): void {
    this.#metrics.matched += 1;
    if (this.#metrics.matched % TIMED === 0) this.#matchTimed();
    else this.#index.matchGroups(this.#delivery, this.#deliverToGroup);
    this.#scheduler.flushIfLong();
  }

  /** Measures the time of finding them: the first group is visited after the last comparison. */
  #matchTimed(): void {
    const began = performance.now();
    let matched = 0;
    this.#index.matchGroups(this.#delivery, (group) => {
      if (matched === 0) matched = performance.now();
      this.#deliverToGroup(group);
    });
    this.#metrics.matchMs.add((matched || performance.now()) - began);
  }
}
