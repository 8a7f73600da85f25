import type { Delivery } from '../hub/delivery.js';
import type { StompVersion } from '../stomp/frame.js';
import { messagePrefix } from '../stomp/message.js';
import type { OutFrame } from './chain.js';
import type { Flush, Flushed } from './flush.js';

/**
 * How every MESSAGE of a subscription begins. Clients that chose the same id share it, and so the frames that are
 * made with it: one for each event.
 */
export class Prefix implements Flushed {
  readonly id: string;
  readonly version: StompVersion;
  readonly head: Uint8Array;
  readonly #flush: Flush;
  /** The latest, until the flush. */
  #frame: OutFrame | null = null;
  #serial = 0;
  /** Subscriptions. */
  users = 0;

  constructor(id: string, version: StompVersion, flush: Flush) {
    this.id = id;
    this.version = version;
    this.#flush = flush;
    this.head = messagePrefix(id, undefined, version);
  }

  frame(delivery: Delivery): OutFrame {
    if (this.#serial === delivery.serial && this.#frame !== null) return this.#frame;
    const frame = this.framed(this.head, delivery);
    if (this.#frame === null) this.#flush.join(this);
    this.#frame = frame;
    this.#serial = delivery.serial;
    return frame;
  }

  /** With another head, which nobody shares. */
  framed(head: Uint8Array, delivery: Delivery): OutFrame {
    return this.#flush.block.frame(head, delivery.tail(this.version));
  }

  flush(): void {
    this.#frame = null;
  }
}

/** The prefixes in use. */
export class Prefixes {
  readonly #flush: Flush;
  readonly #prefixes = new Map<string, Prefix>();

  constructor(flush: Flush) {
    this.#flush = flush;
  }

  /** Give it back with `release`. */
  use(id: string, version: StompVersion): Prefix {
    const key = `${version} ${id}`;
    let prefix = this.#prefixes.get(key);
    if (prefix === undefined) {
      prefix = new Prefix(id, version, this.#flush);
      this.#prefixes.set(key, prefix);
    }
    prefix.users += 1;
    return prefix;
  }

  release(prefix: Prefix): void {
    prefix.users -= 1;
    if (prefix.users === 0) this.#prefixes.delete(`${prefix.version} ${prefix.id}`);
  }
}
