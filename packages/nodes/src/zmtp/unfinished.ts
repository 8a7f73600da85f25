import { ProtocolError } from './protocol-error.js';

/**
 * Memory that unfinished messages take, of all connections of a listener together. A little is every connection's own,
 * so that a heartbeat that comes in two pieces is heard whatever others do.
 */
export class Unfinished {
  readonly #most: number;
  readonly #free: number;
  #total = 0;

  constructor(limits: { readonly most: number; readonly freeEach: number }) {
    this.#most = limits.most;
    this.#free = limits.freeEach;
  }

  get total(): number {
    return this.#total;
  }

  /** What one connection holds has changed. @throws ProtocolError when more is held than may be. */
  change(before: number, now: number): void {
    const grown = Math.max(0, now - this.#free) - Math.max(0, before - this.#free);
    this.#total += grown;
    if (grown > 0 && this.#total > this.#most) throw new ProtocolError('too much of unfinished messages');
  }
}
