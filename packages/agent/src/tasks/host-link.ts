import { connect, type Socket } from 'node:net';
import { FrameReader, writeFrames } from './frames.js';
import type { FromHost, ToHost } from './protocol.js';

export interface HostLinkEvents {
  message(message: FromHost): void;
  /** Once; nothing comes after it. */
  closed(): void;
}

/** The agent's end of the socket of a host. What is sent before it is connected waits. */
export class HostLink {
  readonly #events: HostLinkEvents;
  #socket: Socket | null = null;
  #outgoing: ToHost[] = [];
  #flushing = false;
  #closed = false;

  constructor(events: HostLinkEvents) {
    this.#events = events;
  }

  /** Rejects when nobody listens there. */
  open(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        if (this.#closed) return void socket.destroy();
        this.#connected(socket);
        resolve();
      });
    });
  }

  #connected(socket: Socket): void {
    this.#socket = socket;
    const reader = new FrameReader();
    socket.on('data', (piece: Buffer) => {
      if (!this.#closed) this.#read(socket, reader, piece);
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (this.#closed) return;
      this.#closed = true;
      this.#events.closed();
    });
    this.#flushSoon();
  }

  #read(socket: Socket, reader: FrameReader, piece: Buffer): void {
    try {
      for (const message of reader.read(piece)) this.#events.message(message as FromHost);
    } catch (error) {
      // Whatever it is, it is no host of ours any more.
      socket.destroy(error instanceof Error ? error : undefined);
    }
  }

  send(message: ToHost): void {
    this.#outgoing.push(message);
    this.#flushSoon();
  }

  /** All that is sent in one turn of the event loop goes out together. */
  #flushSoon(): void {
    if (this.#flushing || this.#socket === null) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      const messages = this.#outgoing;
      this.#outgoing = [];
      if (this.#closed) return;
      for (const bytes of writeFrames(messages)) this.#socket?.write(bytes);
    });
  }

  /** Says nothing of it. What was sent last still leaves. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const bytes of writeFrames(this.#outgoing)) this.#socket?.write(bytes);
    this.#socket?.end();
    this.#socket?.unref();
  }
}
