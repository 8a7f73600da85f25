import { type Entry, type Expression, type Group, type IndexStats, SelectorIndex } from '@muster/selector';
import type { FabricMetrics } from '../metrics.js';
import type { LoggedEvent } from '../root/event.js';
import type { Flush } from '../session/flush.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { Delivery } from './delivery.js';

/** Takes the events that a subscription is for. */
export interface Receiver {
  /** Called while others still wait for the same event: it may subscribe, unsubscribe and send, but takes no time. */
  take(delivery: Delivery): void;
}

export type Place = Entry<Receiver>;

/** Matches are timed once in so many events: looking at the clock costs as much as many a match. */
const TIMED = 64;

/** The subscriptions of all sessions that hear of the same events. */
export class Hub {
  readonly #index = new SelectorIndex<Receiver>();
  readonly #flush: Flush;
  readonly #metrics: FabricMetrics;
  readonly #delivery = new Delivery();

  constructor(flush: Flush, metrics: FabricMetrics) {
    this.#flush = flush;
    this.#metrics = metrics;
  }

  /** Subscriptions. */
  get size(): number {
    return this.#index.size;
  }

  add(selector: Expression, receiver: Receiver): Place {
    return this.#index.add(selector, receiver);
  }

  /** Removing what is removed already does nothing. */
  remove(place: Place): void {
    this.#index.remove(place);
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
  deliverTail(bytes: Uint8Array, start: number, end: number, position: number, raw: RawFrame | null): void {
    this.#delivery.showTail(bytes, start, end, position, raw);
    this.#match();
  }

  stats(): IndexStats {
    return this.#index.stats();
  }

  /** Made once: a closure for each event would cost as much as the match. */
  readonly #hand = ({ subscribers }: Group<Receiver>): void => {
    this.#metrics.deliveries += subscribers.length;
    for (const receiver of subscribers) receiver.take(this.#delivery);
  };

  #match(): void {
    this.#metrics.matched += 1;
    if (this.#metrics.matched % TIMED === 0) this.#matchTimed();
    else this.#index.matchGroups(this.#delivery, this.#hand);
    this.#flush.cut();
  }

  /** The first visit comes after the last comparison. */
  #matchTimed(): void {
    const began = performance.now();
    let matched = 0;
    this.#index.matchGroups(this.#delivery, (group) => {
      if (matched === 0) matched = performance.now();
      this.#hand(group);
    });
    this.#metrics.matchMs.add((matched || performance.now()) - began);
  }
}
