import type { Socket } from 'node:net';
import { remoteOf, reset } from './socket.js';
import type { Stream, StreamEvents } from './stream-channel.js';

/** A connected TCP, TLS or Unix socket. */
export class SocketStream implements Stream {
  readonly remote: string;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.remote = remoteOf(socket);
    this.#socket = socket;
    socket.setNoDelay(true);
  }

  get pending(): number {
    return this.#socket.writableLength;
  }

  get open(): boolean {
    return this.#socket.writable;
  }

  send(bytes: Uint8Array, taken: () => void): void {
    this.#socket.write(bytes, taken);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  finish(): void {
    this.#socket.end();
  }

  reset(): void {
    reset(this.#socket);
  }

  listen(events: StreamEvents): void {
    const socket = this.#socket;
    // Whoever listens to it would let it flow.
    socket.pause();
    socket.on('data', events.data);
    socket.on('error', events.failed);
    // Our half is closed by itself then, after what is written was sent: if the peer takes it.
    socket.on('end', events.finished);
    socket.on('close', events.closed);
  }
}
