import { MusterError } from '../errors.js';

export interface SeatLimits {
  readonly all: number;
  readonly perReader: number;
}

/** Who holds an answer open that does not end by itself: bounded in all, and for each principal. */
export class Seats {
  readonly #limits: SeatLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: SeatLimits) {
    this.#limits = limits;
  }

  /** Returns how to give the seat back; doing it twice is harmless. @throws MusterError `too_busy`. */
  take(reader: string): () => void {
    const { all, perReader } = this.#limits;
    const own = this.#taken.get(reader) ?? 0;
    if (this.#total >= all) throw new MusterError('too_busy', { what: 'streams', limit: all });
    if (own >= perReader) throw new MusterError('too_busy', { what: 'streams of one principal', limit: perReader });
    this.#total += 1;
    this.#taken.set(reader, own + 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#total -= 1;
      const left = (this.#taken.get(reader) ?? 1) - 1;
      if (left === 0) this.#taken.delete(reader);
      else this.#taken.set(reader, left);
    };
  }
}
