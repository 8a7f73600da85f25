/**
 * Divides a number of places among whoever wants some, so that nobody can take them all: who holds as many as are free
 * for everybody gets no more. One alone gets half of them, the next half of the rest, and so on.
 */
export class Shares {
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

  held(who: string): number {
    return this.#held.get(who) ?? 0;
  }

  /** False: it has its share, or nothing is free. */
  take(who: string): boolean {
    const held = this.held(who);
    if (held >= this.#most - this.#taken) return false;
    this.#held.set(who, held + 1);
    this.#taken += 1;
    return true;
  }

  /** One that was taken. */
  give(who: string): void {
    const held = this.held(who) - 1;
    if (held > 0) this.#held.set(who, held);
    else this.#held.delete(who);
    this.#taken -= 1;
  }
}
