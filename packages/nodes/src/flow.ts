import type { Clock } from '@muster/base';
import { Budget } from '@muster/platform/upkeep';
import type { KnownNode } from './known-node.js';
import { NODE_LIMITS } from './limits.js';

/** What a message costs: reading it takes time of its own, and time by its length. */
function costOf(frames: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const frame of frames) bytes += frame.length;
  return 1 + bytes / NODE_LIMITS.workBytes;
}

/**
 * Keeps one admitted peer that sends at line speed from taking the core that all share. It is judged before a message is
 * read: on a connection that is known to be a node's by that node's budget, on any other by the connection's own, so
 * that nobody can use up the budget of a node by using its name.
 */
export class Flow {
  readonly #clock: Clock;
  readonly #nodes = new WeakMap<KnownNode, Budget>();
  /** Of connections that are not known to be a node's; the oldest is forgotten first. */
  readonly #strangers = new Map<string, Budget>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** May this message be read? */
  admits(key: string, node: KnownNode | undefined, frames: readonly Uint8Array[]): boolean {
    const budget = node === undefined ? this.#stranger(key) : this.#node(node);
    return budget.spend(costOf(frames), this.#clock.now());
  }

  /** The connection has turned out to be this node's: a node that connects again and again has one budget all the same. */
  identified(key: string, node: KnownNode, frames: readonly Uint8Array[]): boolean {
    this.#strangers.delete(key);
    return this.#node(node).spend(costOf(frames), this.#clock.now());
  }

  #node(node: KnownNode): Budget {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    const budget = this.#fresh();
    this.#nodes.set(node, budget);
    return budget;
  }

  #stranger(key: string): Budget {
    const known = this.#strangers.get(key);
    if (known !== undefined) return known;
    const oldest = this.#strangers.keys().next();
    if (this.#strangers.size >= NODE_LIMITS.strangers && !oldest.done) this.#strangers.delete(oldest.value);
    const budget = this.#fresh();
    this.#strangers.set(key, budget);
    return budget;
  }

  #fresh(): Budget {
    return new Budget({ perSecond: NODE_LIMITS.workPerSecond, burst: NODE_LIMITS.workBurst }, this.#clock.now());
  }
}
