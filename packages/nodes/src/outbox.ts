import type { Frames } from '@muster/wire';
import { NODE_LIMITS } from './limits.js';
import type { SendDropCause } from './transport.js';
import type { SendResult } from './zmtp/connection.js';

interface Outgoing {
  readonly identity: Uint8Array;
  readonly seal: () => Frames | null;
}

/** What the outbox needs of a ROUTER: it never waits, and says at once what became of a message. */
export interface RouterSocket {
  send(identity: Uint8Array, frames: Frames): SendResult;
}

/** Messages handed to the socket before other work gets a turn: sealed and written, one takes well below 0.1 ms. */
const BURST = 64;

/**
 * The one writer of a ROUTER. First in, first out, so the order per node holds, and in bursts, so that a command to all
 * nodes does not keep everything else waiting. What cannot be sent is dropped and counted, never waited for (Push Jobs
 * §3.2.1).
 */
export class Outbox {
  readonly #socket: RouterSocket;
  readonly #dropped: (cause: SendDropCause) => void;
  readonly #limit: number;
  #waiting: Outgoing[] = [];
  #running = false;
  #closed = false;

  constructor(socket: RouterSocket, dropped: (cause: SendDropCause) => void, limit: number = NODE_LIMITS.outbox) {
    this.#socket = socket;
    this.#dropped = dropped;
    this.#limit = limit;
  }

  push(identity: Uint8Array, seal: () => Frames | null): void {
    if (this.#closed) return;
    if (this.#waiting.length >= this.#limit) {
      this.#dropped('outbox_full');
      return;
    }
    this.#waiting.push({ identity, seal });
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => this.#write());
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  #write(): void {
    const writing = this.#waiting;
    this.#waiting = [];
    this.#burst(writing, 0);
  }

  #burst(writing: readonly Outgoing[], from: number): void {
    const end = Math.min(writing.length, from + BURST);
    for (let index = from; index < end && !this.#closed; index++) {
      const outgoing = writing[index];
      if (outgoing !== undefined) this.#sendOne(outgoing);
    }
    if (this.#closed) return;
    if (end < writing.length) setImmediate(() => this.#burst(writing, end));
    else if (this.#waiting.length > 0) queueMicrotask(() => this.#write());
    else this.#running = false;
  }

  #sendOne({ identity, seal }: Outgoing): void {
    const frames = seal();
    if (frames === null) return;
    const result = this.#socket.send(identity, frames);
    if (result !== 'sent') this.#dropped(result === 'gone' ? 'unreachable' : 'peer_busy');
  }
}
