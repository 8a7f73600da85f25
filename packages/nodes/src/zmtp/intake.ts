import type { TurnShare } from '@muster/base';

/** A socket that brings nothing more while it is paused. */
export interface PausableSocket {
  pause(): unknown;
  resume(): unknown;
}

/**
 * What connections bring, first come, first served, within a share of each turn of the event loop: a thousand nodes that send at the same moment
 * keep nobody else waiting for longer. A socket whose piece has to wait is not read until then, so what waits is bounded by the connections.
 */
export class Intake {
  readonly #share: TurnShare;
  readonly #waiting: { readonly socket: PausableSocket; readonly work: () => void }[] = [];

  constructor(share: TurnShare) {
    this.#share = share;
  }

  /** Does the work, now or when its turn has come. */
  take(socket: PausableSocket, work: () => void): void {
    if (this.#waiting.length === 0 && !this.#share.used) {
      work();
      return;
    }
    socket.pause();
    this.#waiting.push({ socket, work });
    if (this.#waiting.length === 1) this.#share.later(() => this.#catchUp());
  }

  #catchUp(): void {
    let done = 0;
    for (const { socket, work } of this.#waiting) {
      if (this.#share.used) break;
      done += 1;
      work();
      socket.resume();
    }
    this.#waiting.splice(0, done);
    if (this.#waiting.length > 0) this.#share.later(() => this.#catchUp());
  }
}
