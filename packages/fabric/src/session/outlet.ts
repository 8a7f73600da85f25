import type { Channel } from '../channel.js';
import type { FabricMetrics } from '../metrics.js';
import type { Tail } from '../root/stamp.js';
import type { Link, OutFrame } from './chain.js';
import type { Flush, Flushed } from './flush.js';

/** Not yet taken by the system: beyond that, whoever can wait does. */
const READY_BYTES = 256 * 1024;

/** Has frames for later. */
export interface Waiting {
  /** Adds frames as long as the outlet is `ready`. */
  pump(): void;
}

export interface OutletHooks {
  /** Something was written. */
  wrote(): void;
  /** More waits than may (F5). Once; nothing more is taken then but the `last` frame. */
  slow(): void;
}

/** What goes to one client: collected during a turn of the loop, written at its end. */
export class Outlet implements Flushed {
  readonly #channel: Channel;
  readonly #flush: Flush;
  readonly #metrics: FabricMetrics;
  readonly #limit: number;
  readonly #hooks: OutletHooks;
  readonly #waiting = new Set<Waiting>();
  /** The frames of this turn; null: none yet. */
  #link: Link | null = null;
  /** After them, in the block: frames that nobody else gets. It grows with each, as long as they are neighbours. */
  #own: { readonly bytes: Uint8Array; readonly start: number; end: number } | null = null;
  /** Nothing is added any more. */
  #closed = false;
  /** Kept by those that wait. */
  #heldBytes = 0;

  /** @param limit Of bytes that are not sent (F5). */
  constructor(channel: Channel, flush: Flush, metrics: FabricMetrics, limit: number, hooks: OutletHooks) {
    this.#channel = channel;
    this.#flush = flush;
    this.#metrics = metrics;
    this.#limit = limit;
    this.#hooks = hooks;
  }

  /** Bytes that the system has not taken. */
  get bytes(): number {
    return this.#unsent + this.#heldBytes;
  }

  /** The client reads about as fast as it is written to. */
  get ready(): boolean {
    // Whoever can wait must not be what makes a client slow, however little may wait for it.
    return !this.#closed && this.#unsent < Math.min(READY_BYTES, this.#limit / 2);
  }

  add(frame: OutFrame): void {
    if (this.#closed) return;
    this.#join();
    this.#link = this.#chain().next(frame);
    this.#flush.grown(this.#link.size);
  }

  /** A MESSAGE that nobody else gets. @param head All before the tail. */
  message(head: Uint8Array, tail: Tail): void {
    if (this.#closed) return;
    this.#put(this.#flush.block.put(head, tail));
  }

  /** A frame of its own: a RECEIPT, a heart-beat. */
  send(bytes: Uint8Array): void {
    if (this.#closed) return;
    this.#put(this.#flush.block.putFrame(bytes));
  }

  /** What the block has from there on. */
  #put(start: number): void {
    this.#join();
    const { block } = this.#flush;
    if (this.#own !== null && this.#own.end === start && this.#own.bytes === block.bytes) this.#own.end = block.at;
    else {
      this.#link = this.#chain();
      this.#own = { bytes: block.bytes, start, end: block.at };
    }
    this.#flush.grown(this.#collected);
  }

  /** Whether that many bytes may be kept for later. The caller keeps them, and tells with `held`. */
  fits(bytes: number): boolean {
    return this.bytes + bytes <= this.#limit;
  }

  held(bytes: number): void {
    this.#heldBytes += bytes;
  }

  /** Calls `pump` when there is room, until `rest`. */
  wait(waiting: Waiting): void {
    this.#waiting.add(waiting);
  }

  rest(waiting: Waiting): void {
    this.#waiting.delete(waiting);
  }

  /** The system has taken more. */
  drained(): void {
    for (const waiting of this.#waiting) {
      if (!this.ready) return;
      waiting.pump();
    }
  }

  flush(): void {
    if (this.#collected === 0) return;
    const link = this.#chain();
    this.#link = null;
    if (this.#channel.pending + link.size > this.#limit) {
      this.#closed = true;
      this.#hooks.slow();
      return;
    }
    this.#write(link.bytes());
    // What the system takes at once is not told by `drained`.
    if (this.#waiting.size > 0) this.drained();
  }

  /** What was added before, then this frame, then nothing more. */
  last(bytes: Uint8Array): void {
    if (!this.#closed) this.flush();
    this.#closed = true;
    this.#write(bytes);
  }

  /** Nothing more; what was not flushed is lost. */
  close(): void {
    this.#closed = true;
    this.#link = null;
    this.#own = null;
    this.#waiting.clear();
  }

  /** Bytes of this turn. */
  get #collected(): number {
    return (this.#link?.size ?? 0) + (this.#own === null ? 0 : this.#own.end - this.#own.start);
  }

  get #unsent(): number {
    return this.#channel.pending + this.#collected;
  }

  #join(): void {
    if (this.#link === null) this.#flush.join(this);
  }

  /** All frames of this turn. */
  #chain(): Link {
    const link = this.#link ?? this.#flush.start;
    const own = this.#own;
    this.#own = null;
    return own === null ? link : link.next(own);
  }

  #write(bytes: Uint8Array): void {
    this.#metrics.bytesOut += bytes.length;
    this.#hooks.wrote();
    this.#channel.write(bytes);
  }
}
