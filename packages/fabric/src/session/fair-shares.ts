/**
 * Admission limit that is shared fairly: a number of places, of which nobody can take all. Who holds as many places as
 * are still free gets no more: the first gets half of them at most, the next half of the rest, and so on.
 */
export class FairShares {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Places that are taken, by anybody. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(who: string): number {
    return this.#held.get(who) ?? 0;
  }

  /** False: it has its share, or nothing is free. */
  take(who: string): boolean {
    const held = this.heldBy(who);
    if (held >= this.#most - this.#taken) return false;
    this.#held.set(who, held + 1);
    this.#taken += 1;
    return true;
  }

  /** Frees one place. */
  giveBack(who: string): void {
    const held = this.heldBy(who) - 1;
    if (held > 0) this.#held.set(who, held);
    else this.#held.delete(who);
    this.#taken -= 1;
  }
}
