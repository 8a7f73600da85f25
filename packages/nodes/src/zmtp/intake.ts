import type { TurnShare } from '@muster/base';
import { NODE_LIMITS } from '../limits.js';

/** A socket that brings nothing more while it is paused. */
export interface PausableSocket {
  pause(): unknown;
  resume(): unknown;
}

interface Waiting {
  readonly socket: PausableSocket;
  readonly bytes: number;
  readonly work: () => void;
  readonly paused: boolean;
}

/**
 * What connections bring, first come, first served, within a share of each turn of the event loop: a thousand nodes that send at the same moment
 * keep nobody else waiting for longer. What waits is held up to a limit for all; beyond it a socket whose piece has to wait is not read until
 * then, so no more waits than that and one piece of each connection. (To stop and start reading costs more than to take a small message.)
 */
export class Intake {
  readonly #share: TurnShare;
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;

  /** @param most bytes that wait before sockets are paused. */
  constructor(share: TurnShare, most: number = NODE_LIMITS.intakeBytes) {
    this.#share = share;
    this.#most = most;
  }

  /** Does the work on a piece of so many bytes, now or when its turn has come. */
  take(socket: PausableSocket, bytes: number, work: () => void): void {
    if (this.#waiting.length === 0 && !this.#share.used) {
      work();
      return;
    }
    this.#bytes += bytes;
    const paused = this.#bytes > this.#most;
    if (paused) socket.pause();
    this.#waiting.push({ socket, bytes, work, paused });
    if (this.#waiting.length === 1) this.#share.later(() => this.#catchUp());
  }

  #catchUp(): void {
    let done = 0;
    for (const { socket, bytes, work, paused } of this.#waiting) {
      if (this.#share.used) break;
      done += 1;
      this.#bytes -= bytes;
      work();
      if (paused) socket.resume();
    }
    this.#waiting.splice(0, done);
    if (this.#waiting.length > 0) this.#share.later(() => this.#catchUp());
  }
}
