import type { Clock, Timer } from '@muster/base/clock';
import { FABRIC_LIMITS } from '../limits.js';
import type { Channel, ChannelHandlers } from './channel.js';

/** A connection, as far as connections differ. */
export interface Stream {
  readonly remote: string;
  /** Bytes that the system has not taken. */
  readonly pending: number;
  /** Bytes can be sent. */
  readonly open: boolean;
  /** @param taken Called when the system has taken some of them. */
  send(bytes: Uint8Array, taken: () => void): void;
  /** Nothing is received before the first `resume`. */
  pause(): void;
  resume(): void;
  /** Says goodbye after what was sent. */
  finish(): void;
  /** Closes at once. */
  reset(): void;
  /** Once. */
  listen(events: StreamEvents): void;
}

export interface StreamEvents {
  data(bytes: Uint8Array): void;
  failed(error: Error): void;
  /** The peer sends nothing more. */
  finished(): void;
  closed(): void;
}

/** A stream as a channel: it is not read before `attach`, and saying goodbye takes no longer than it may. */
export class StreamChannel implements Channel {
  readonly remote: string;
  readonly #stream: Stream;
  readonly #clock: Clock;
  #handlers: ChannelHandlers | null = null;
  #paused = false;
  #waiting = false;
  #ending = false;
  #gone = false;
  #error: Error | null = null;
  #linger: Timer | null = null;

  constructor(stream: Stream, clock: Clock) {
    this.remote = stream.remote;
    this.#stream = stream;
    this.#clock = clock;
    stream.listen({
      data: (bytes) => {
        if (!this.#ending) this.#handlers?.data(bytes);
      },
      failed: (error) => (this.#error ??= error),
      finished: () => this.#lingerOnly(),
      closed: () => this.#closed(),
    });
  }

  /** From now on everything is told, also what has happened already. */
  attach(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
    if (!this.#paused) this.#stream.resume();
    this.#written();
    if (this.#gone) this.#closed();
  }

  get pending(): number {
    return this.#stream.pending;
  }

  write(bytes: Uint8Array): void {
    if (this.#ending || !this.#stream.open) return;
    this.#stream.send(bytes, this.#written);
    if (this.#stream.pending > 0) this.#waiting = true;
  }

  pause(): void {
    this.#paused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#paused = false;
    if (!this.#ending && this.#handlers !== null) this.#stream.resume();
  }

  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#stream.finish();
    // What still comes is read and dropped: a close with unread bytes would reset what we have written.
    this.#stream.resume();
    this.#lingerOnly();
  }

  destroy(): void {
    this.#ending = true;
    this.#stream.reset();
  }

  readonly #written = (): void => {
    if (!this.#waiting || this.#stream.pending > 0) return;
    this.#waiting = false;
    if (!this.#ending && this.#stream.open) this.#handlers?.drained();
  };

  #lingerOnly(): void {
    this.#linger ??= this.#clock.after(FABRIC_LIMITS.lingerMs, () => this.#stream.reset());
  }

  #closed(): void {
    this.#gone = true;
    this.#linger?.cancel();
    // By `attach`, that is.
    if (this.#handlers === null) return;
    const error = this.#ending ? null : this.#error;
    this.#ending = true;
    this.#handlers.closed(error);
  }
}
