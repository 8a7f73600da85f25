import type { Delivery } from '../event/delivery.js';
import type { StompVersion } from '../stomp/frame.js';
import { messagePrefix } from '../stomp/message.js';
import type { Flushable, FlushScheduler } from './flush-scheduler.js';
import type { OutFrame } from './frame-sequence.js';

/**
 * The first bytes of every MESSAGE of a subscription, up to the tail. Clients whose subscriptions have the same id
 * share it, and with it one frame for each event.
 */
export class MessagePrefix implements Flushable {
  readonly id: string;
  readonly version: StompVersion;
  readonly head: Uint8Array;
  readonly #scheduler: FlushScheduler;
  /** The frame of the latest event, until the flush. */
  #frame: OutFrame | null = null;
  #serial = 0;
  /** How many subscriptions use it. */
  subscriptions = 0;

  constructor(id: string, version: StompVersion, flush: FlushScheduler) {
    this.id = id;
    this.version = version;
    this.#scheduler = flush;
    this.head = messagePrefix(id, undefined, version);
  }

  frame(delivery: Delivery): OutFrame {
    if (this.#serial === delivery.serial && this.#frame !== null) return this.#frame;
    const frame = this.frameWithHead(this.head, delivery);
    if (this.#frame === null) this.#scheduler.schedule(this);
    this.#frame = frame;
    this.#serial = delivery.serial;
    return frame;
  }

  /** A frame that begins with another head, which no other subscription has. */
  frameWithHead(head: Uint8Array, delivery: Delivery): OutFrame {
    return this.#scheduler.buffer.messageFrame(head, delivery.tail(this.version));
  }

  flush(): void {
    this.#frame = null;
  }
}

/** The prefixes in use, by version and id. */
export class MessagePrefixes {
  readonly #scheduler: FlushScheduler;
  readonly #prefixes = new Map<string, MessagePrefix>();

  constructor(flush: FlushScheduler) {
    this.#scheduler = flush;
  }

  /** Give it back with `release`. */
  use(id: string, version: StompVersion): MessagePrefix {
    const key = `${version} ${id}`;
    let prefix = this.#prefixes.get(key);
    if (prefix === undefined) {
      prefix = new MessagePrefix(id, version, this.#scheduler);
      this.#prefixes.set(key, prefix);
    }
    prefix.subscriptions += 1;
    return prefix;
  }

  release(prefix: MessagePrefix): void {
    prefix.subscriptions -= 1;
    if (prefix.subscriptions === 0) this.#prefixes.delete(`${prefix.version} ${prefix.id}`);
  }
}
