import type { Socket } from 'node:net';
import type { Clock, Timer } from '@muster/wire/clock';
import type { Channel, ChannelHandlers } from '../channel.js';
import { FABRIC_LIMITS } from '../limits.js';
import { remoteOf, reset } from './socket.js';

/** A connected TCP or TLS socket; it is not read before `attach`. */
export class SocketChannel implements Channel {
  readonly remote: string;
  readonly #socket: Socket;
  readonly #clock: Clock;
  #handlers: ChannelHandlers | null = null;
  #paused = false;
  #waiting = false;
  #ending = false;
  #gone = false;
  #error: Error | null = null;
  #linger: Timer | null = null;

  constructor(socket: Socket, clock: Clock) {
    this.remote = remoteOf(socket);
    this.#socket = socket;
    this.#clock = clock;
    socket.setNoDelay(true);
    socket.on('error', (error) => (this.#error ??= error));
    socket.on('close', () => this.#closed());
    // Our half is closed by itself then, after what is written was sent: if the peer takes it.
    socket.on('end', () => this.#lingerOnly());
  }

  /** From now on everything is told, also what has happened already. */
  attach(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
    this.#socket.on('data', (bytes: Uint8Array) => {
      if (!this.#ending) handlers.data(bytes);
    });
    if (this.#paused) this.#socket.pause();
    this.#written();
    if (this.#gone) this.#closed();
  }

  get pending(): number {
    return this.#socket.writableLength;
  }

  write(bytes: Uint8Array): void {
    if (this.#ending || !this.#socket.writable) return;
    this.#socket.write(bytes, this.#written);
    if (this.#socket.writableLength > 0) this.#waiting = true;
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    if (!this.#ending && this.#handlers !== null) this.#socket.resume();
  }

  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#socket.end();
    // What still comes is read and dropped: a close with unread bytes would reset what we have written.
    this.#socket.resume();
    this.#lingerOnly();
  }

  destroy(): void {
    this.#ending = true;
    this.#error = null;
    reset(this.#socket);
  }

  readonly #written = (): void => {
    if (!this.#waiting || this.#socket.writableLength > 0) return;
    this.#waiting = false;
    if (!this.#ending && !this.#socket.destroyed) this.#handlers?.drained();
  };

  #lingerOnly(): void {
    this.#linger ??= this.#clock.after(FABRIC_LIMITS.lingerMs, () => reset(this.#socket));
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
