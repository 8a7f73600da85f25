import type { Frames } from '@muster/wire';
import { NODE_LIMITS } from './limits.js';
import type { SendDropCause } from './transport.js';

interface Outgoing {
  readonly identity: Uint8Array;
  readonly seal: () => Frames | null;
}

/** What the outbox needs of a ROUTER socket: `send` rejects at once when the peer is gone (EHOSTUNREACH) or full (EAGAIN). */
export interface RouterSocket {
  send(frames: Uint8Array[]): Promise<void>;
}

/** Messages handed to the socket before other work gets a turn. */
const BURST = 256;

/**
 * The one writer of a ROUTER socket, which takes one `send` at a time. First in, first out, so the order per node
 * holds. What cannot be sent is dropped and counted, never waited for (Push Jobs §3.2.1).
 */
export class Outbox {
  readonly #socket: RouterSocket;
  readonly #dropped: (cause: SendDropCause) => void;
  readonly #limit: number;
  #waiting: Outgoing[] = [];
  #writing: Outgoing[] = [];
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
    void this.#write();
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  async #write(): Promise<void> {
    let burst = 0;
    while (this.#waiting.length > 0 && !this.#closed) {
      [this.#writing, this.#waiting] = [this.#waiting, []];
      for (const outgoing of this.#writing) {
        if (this.#closed) break;
        await this.#sendOne(outgoing);
        burst += 1;
        if (burst % BURST === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      }
      this.#writing = [];
    }
    this.#running = false;
  }

  async #sendOne({ identity, seal }: Outgoing): Promise<void> {
    try {
      const frames = seal();
      if (frames !== null) await this.#socket.send([identity, frames[0], frames[1]]);
    } catch (error) {
      if (!this.#closed) this.#dropped(causeOf(error));
    }
  }
}

function causeOf(error: unknown): SendDropCause {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EHOSTUNREACH') return 'unreachable';
  if (code === 'EAGAIN') return 'peer_busy';
  return 'failed';
}
