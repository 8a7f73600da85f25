import type { Tail } from '../event/tail.js';
import type { FabricMetrics } from '../metrics.js';
import type { Channel } from '../transport/channel.js';
import type { Flushable, FlushScheduler } from './flush-scheduler.js';
import type { FrameSequence, OutFrame } from './frame-sequence.js';

/** Unsent bytes with which the queue is not `ready`: backlogs wait. */
const READY_BYTES = 256 * 1024;

/** Frames of one subscription that wait until the outbound queue has room. */
export interface Backlog {
  /** Adds frames as long as the queue is `ready`. */
  resume(): void;
}

export interface OutboundQueueHooks {
  /** Bytes were written to the channel. */
  wrote(): void;
  /** More bytes wait than the limit (F5). Called once; afterwards the queue takes nothing but `sendLast`. */
  slow(): void;
}

/** The outbound queue of one client. Frames are collected during a turn of the event loop and written at its end. */
export class OutboundQueue implements Flushable {
  readonly #channel: Channel;
  readonly #scheduler: FlushScheduler;
  readonly #metrics: FabricMetrics;
  readonly #limit: number;
  readonly #hooks: OutboundQueueHooks;
  readonly #backlogs = new Set<Backlog>();
  /** The frames that were added in this turn; null: none. */
  #sequence: FrameSequence | null = null;
  /**
   * Frames after them that only this client gets: one piece of the frame buffer, which grows while they are neighbours.
   */
  #unshared: { readonly bytes: Uint8Array; readonly start: number; end: number } | null = null;
  /** Nothing is taken any more. */
  #closed = false;
  /** Bytes in the backlogs. */
  #backlogBytes = 0;

  /** @param limit Most unsent bytes (F5). */
  constructor(
    channel: Channel,
    flush: FlushScheduler,
    metrics: FabricMetrics,
    limit: number,
    hooks: OutboundQueueHooks,
  ) {
    this.#channel = channel;
    this.#scheduler = flush;
    this.#metrics = metrics;
    this.#limit = limit;
    this.#hooks = hooks;
  }

  /** Bytes that wait for the client, backlogs included. */
  get bytes(): number {
    return this.#unsent + this.#backlogBytes;
  }

  /** The client reads about as fast as we write: backlogs may add frames. */
  get ready(): boolean {
    // A backlog alone must never bring a client over its limit, however low that is.
    return !this.#closed && this.#unsent < Math.min(READY_BYTES, this.#limit / 2);
  }

  add(frame: OutFrame): void {
    if (this.#closed) return;
    this.#schedule();
    this.#sequence = this.#endUnshared().followedBy(frame);
    this.#scheduler.noteSize(this.#sequence.size);
  }

  /** Adds a MESSAGE that only this client gets. @param head The bytes before the tail. */
  addMessage(head: Uint8Array, tail: Tail): void {
    if (this.#closed) return;
    this.#put(this.#scheduler.buffer.putMessage(head, tail));
  }

  /** Adds a frame that is no MESSAGE: a RECEIPT, a heart-beat. */
  send(bytes: Uint8Array): void {
    if (this.#closed) return;
    this.#put(this.#scheduler.buffer.putFrame(bytes));
  }

  /** Adds what was written into the frame buffer from `start` on. */
  #put(start: number): void {
    this.#schedule();
    const { buffer } = this.#scheduler;
    if (this.#unshared !== null && this.#unshared.end === start && this.#unshared.bytes === buffer.bytes)
      this.#unshared.end = buffer.at;
    else {
      this.#sequence = this.#endUnshared();
      this.#unshared = { bytes: buffer.bytes, start, end: buffer.at };
    }
    this.#scheduler.noteSize(this.#collected);
  }

  /** Whether a backlog may grow by that many bytes. The backlog keeps them, and calls `countBacklog`. */
  fits(bytes: number): boolean {
    return this.bytes + bytes <= this.#limit;
  }

  countBacklog(bytes: number): void {
    this.#backlogBytes += bytes;
  }

  /** Calls `resume` of the backlog whenever there is room, until `removeBacklog`. */
  addBacklog(waiting: Backlog): void {
    this.#backlogs.add(waiting);
  }

  removeBacklog(waiting: Backlog): void {
    this.#backlogs.delete(waiting);
  }

  /** The channel has sent what was written. */
  drained(): void {
    for (const waiting of this.#backlogs) {
      if (!this.ready) return;
      waiting.resume();
    }
  }

  flush(): void {
    if (this.#collected === 0) return;
    const sequence = this.#endUnshared();
    this.#sequence = null;
    if (this.#channel.pending + sequence.size > this.#limit) {
      this.#closed = true;
      this.#hooks.slow();
      return;
    }
    this.#write(sequence.bytes());
    // A channel that sends at once does not call `drained`.
    if (this.#backlogs.size > 0) this.drained();
  }

  /** Writes what was added before, then this frame; afterwards nothing is taken. */
  sendLast(bytes: Uint8Array): void {
    if (!this.#closed) this.flush();
    this.#closed = true;
    this.#write(bytes);
  }

  /** Takes nothing any more; what was not written is lost. */
  close(): void {
    this.#closed = true;
    this.#sequence = null;
    this.#unshared = null;
    this.#backlogs.clear();
  }

  /** Bytes that were added in this turn. */
  get #collected(): number {
    return (this.#sequence?.size ?? 0) + (this.#unshared === null ? 0 : this.#unshared.end - this.#unshared.start);
  }

  get #unsent(): number {
    return this.#channel.pending + this.#collected;
  }

  #schedule(): void {
    if (this.#sequence === null) this.#scheduler.schedule(this);
  }

  /** Ends the unshared piece. @returns the sequence of all frames of this turn. */
  #endUnshared(): FrameSequence {
    const sequence = this.#sequence ?? this.#scheduler.start;
    const unshared = this.#unshared;
    this.#unshared = null;
    return unshared === null ? sequence : sequence.followedBy(unshared);
  }

  #write(bytes: Uint8Array): void {
    this.#metrics.bytesOut += bytes.length;
    this.#hooks.wrote();
    this.#channel.write(bytes);
  }
}
