import { FrameBuffer } from './frame-buffer.js';
import { FrameSequence } from './frame-sequence.js';

/** Has something to do at the end of the turn. */
export interface Flushable {
  flush(): void;
}

/** With more bytes for one client, a turn is flushed before its end, so that slow clients are noticed. */
const LONG_BYTES = 256 * 1024;

/**
 * Flushes all outbound queues together at the end of a turn of the event loop: one write for each client, and clients
 * that get the same frames share the bytes.
 */
export class FlushScheduler {
  /** Where all outbound queues write their frames. */
  readonly buffer = new FrameBuffer();
  readonly #defer: (work: () => void) => void;
  #start = new FrameSequence(null, null);
  #scheduled: Flushable[] = [];
  #deferred = false;
  #isLong = false;

  /** @param defer runs work after this turn of the loop: `setImmediate`. */
  constructor(defer: (work: () => void) => void) {
    this.#defer = defer;
  }

  /** The empty sequence: where all sequences of this turn begin. */
  get start(): FrameSequence {
    return this.#start;
  }

  /** Calls `flush` of it at the end of this turn. */
  schedule(flushed: Flushable): void {
    this.#scheduled.push(flushed);
    if (this.#deferred) return;
    this.#deferred = true;
    this.#defer(this.#end);
  }

  /** A client has that many bytes to be written in this turn. */
  noteSize(size: number): void {
    if (size > LONG_BYTES) this.#isLong = true;
  }

  /** Called between two events: flushes at once if a client has too many bytes to wait for the end of the turn. */
  flushIfLong(): void {
    if (this.#isLong) this.flush();
  }

  /** Flushes everything now. */
  flush(): void {
    const flushed = this.#scheduled;
    this.#scheduled = [];
    this.#start = new FrameSequence(null, null);
    this.#isLong = false;
    for (const each of flushed) each.flush();
    this.buffer.renewIfMostlyUsed();
  }

  readonly #end = (): void => {
    this.#deferred = false;
    this.flush();
  };
}
