import { FairShares } from '@muster/fabric';

/**
 * Who may be connected. All together no more than the process has descriptors to spare for nodes; and of the peers that
 * have proven nothing (in a handshake, or without one that proves anything) only half of that, of which no address gets
 * more than its share. So whoever opens many neither takes the descriptors of everybody else nor the places of nodes.
 */
export class Seats {
  readonly #most: number;
  readonly #unproven: FairShares;
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
    this.#unproven = new FairShares(Math.ceil(most / 2));
  }

  get taken(): number {
    return this.#taken;
  }

  /** False: there is no seat for another one from there. */
  enter(network: string): boolean {
    if (this.#taken >= this.#most || !this.#unproven.take(network)) return false;
    this.#taken += 1;
    return true;
  }

  /** It has proven who it is. */
  proven(network: string): void {
    this.#unproven.giveBack(network);
  }

  leave(network: string, proven: boolean): void {
    if (!proven) this.#unproven.giveBack(network);
    this.#taken -= 1;
  }
}
