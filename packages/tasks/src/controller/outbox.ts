import type { NodeSlots } from '../assign/node-slots.js';
import type { Orders } from './orders.js';

/**
 * Orders that may leave. What one commit stores may be of many turns, of which each has some for a node: all that is told of
 * in one go leaves together, since each message costs the server and the node as much as several tasks do.
 */
export class Outbox {
  readonly #send: (slots: NodeSlots, orders: Orders) => void;
  readonly #waiting = new Map<NodeSlots, Orders>();
  #leaving = false;

  constructor(send: (slots: NodeSlots, orders: Orders) => void) {
    this.#send = send;
  }

  put(given: ReadonlyMap<NodeSlots, Orders>): void {
    if (given.size === 0) return;
    for (const [slots, orders] of given) this.#add(slots, orders);
    if (this.#leaving) return;
    this.#leaving = true;
    queueMicrotask(() => {
      this.#leaving = false;
      for (const slots of [...this.#waiting.keys()]) this.#leave(slots);
    });
  }

  #add(slots: NodeSlots, orders: Orders): void {
    // Of one message a node gives up first, and takes then: what is given up may be what an earlier turn gave it.
    if (orders.cancel.length + orders.recall.length > 0) this.#leave(slots);
    const waiting = this.#waiting.get(slots);
    if (waiting === undefined) this.#waiting.set(slots, orders);
    else waiting.add(orders);
  }

  #leave(slots: NodeSlots): void {
    const orders = this.#waiting.get(slots);
    if (orders === undefined) return;
    this.#waiting.delete(slots);
    this.#send(slots, orders);
  }
}
