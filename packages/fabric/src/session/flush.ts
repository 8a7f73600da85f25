import { Block } from './block.js';
import { Link } from './chain.js';

/** Told when the turn is over. */
export interface Flushed {
  flush(): void;
}

/** Beyond that a turn's bytes for one client are written at once, so that slow clients are noticed. */
const CUT_BYTES = 256 * 1024;

/**
 * One write for each client and turn of the loop: whoever has something to send is flushed after the turn, together
 * with all others, so that they share bytes.
 */
export class Flush {
  /** Where MESSAGEs are put together. */
  readonly block = new Block();
  readonly #defer: (work: () => void) => void;
  #start = new Link(null, null);
  #flushed: Flushed[] = [];
  #deferred = false;
  #full = false;

  /** @param defer runs work after this turn of the loop: `setImmediate`. */
  constructor(defer: (work: () => void) => void) {
    this.#defer = defer;
  }

  /** Where the chains of this turn begin. */
  get start(): Link {
    return this.#start;
  }

  /** To be told of the end of this turn. */
  join(flushed: Flushed): void {
    this.#flushed.push(flushed);
    if (this.#deferred) return;
    this.#deferred = true;
    this.#defer(this.#end);
  }

  /** A chain has grown to that many bytes. */
  grown(size: number): void {
    if (size > CUT_BYTES) this.#full = true;
  }

  /** Between two events: flushes when a chain is too long to wait for the end of the turn. */
  cut(): void {
    if (this.#full) this.flush();
  }

  /** Everything now. */
  flush(): void {
    const flushed = this.#flushed;
    this.#flushed = [];
    this.#start = new Link(null, null);
    this.#full = false;
    for (const each of flushed) each.flush();
    this.block.rest();
  }

  readonly #end = (): void => {
    this.#deferred = false;
    this.flush();
  };
}
