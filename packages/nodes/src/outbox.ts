import { type LoopTurn, TurnShare } from '@muster/base';
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

/**
 * The one writer of a ROUTER. First in, first out, so the order per node holds, and within a share of each turn of the event
 * loop, so that a command to all nodes does not keep everything else waiting. What cannot be sent is dropped and counted, never waited for (Push Jobs
 * §3.2.1).
 */
export class Outbox {
  readonly #socket: RouterSocket;
  readonly #dropped: (cause: SendDropCause) => void;
  readonly #limit: number;
  readonly #share: TurnShare;
  readonly #waiting: Outgoing[] = [];
  #running = false;
  #closed = false;

  constructor(
    socket: RouterSocket,
    dropped: (cause: SendDropCause) => void,
    turn: LoopTurn,
    limit: number = NODE_LIMITS.outbox,
  ) {
    this.#socket = socket;
    this.#dropped = dropped;
    this.#limit = limit;
    this.#share = new TurnShare(turn);
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
    this.#waiting.length = 0;
  }

  #write(): void {
    let done = 0;
    // Sending may bring more.
    for (const outgoing of this.#waiting) {
      if (this.#share.used) break;
      done += 1;
      this.#sendOne(outgoing);
    }
    this.#waiting.splice(0, done);
    this.#running = this.#waiting.length > 0;
    if (this.#running) this.#share.later(() => this.#write());
  }

  #sendOne({ identity, seal }: Outgoing): void {
    const frames = seal();
    if (frames === null) return;
    const result = this.#socket.send(identity, frames);
    if (result !== 'sent') this.#dropped(result === 'gone' ? 'unreachable' : 'peer_busy');
  }
}
