/**
 * A share of each turn of the event loop, for work that comes in any amount. Whoever does it asks before each piece whether the share is used up,
 * and then leaves the rest to the next turn: timers, and everybody else, wait no longer than that.
 */
export class TurnShare {
  readonly #mostMs: number;
  readonly #now: () => number;
  readonly #defer: (work: () => void) => void;
  /** When this turn's work began; null: none was done in it yet. */
  #began: number | null = null;

  /** @param defer runs work after this turn: `setImmediate`. */
  constructor(
    mostMs: number,
    now: () => number = () => performance.now(),
    defer: (work: () => void) => void = setImmediate,
  ) {
    this.#mostMs = mostMs;
    this.#now = now;
    this.#defer = defer;
  }

  /** Whether what is left must wait for the next turn. The first piece of a turn never does. */
  get used(): boolean {
    if (this.#began !== null) return this.#now() - this.#began >= this.#mostMs;
    this.#began = this.#now();
    this.#defer(() => {
      this.#began = null;
    });
    return false;
  }

  /** Runs work in the next turn. */
  later(work: () => void): void {
    this.#defer(work);
  }

  /** Resolves when there is something left of a share: at once, or in a later turn. */
  async free(): Promise<void> {
    while (this.used) await new Promise<void>((resolve) => this.later(resolve));
  }
}
