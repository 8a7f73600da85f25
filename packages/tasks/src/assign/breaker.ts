/** Runs in a row that fail as soon as they began. */
const FAILURES = 5;
/** How soon: a plugin that cannot work at all says so at once. */
const AT_ONCE_MS = 1000;
const OPEN_MS = 60_000;

/**
 * Keeps tasks of a plugin from a node where all of them fail at once, one after the other: a broken installation would
 * otherwise eat a backlog in seconds. After a while one task tries whether it works again.
 */
export class Breaker {
  #failures = 0;
  /** Until when nothing is given to it, monotonic; null: it works. */
  #openUntil: number | null = null;
  #trying = false;

  /** May it get a task now? @param at Monotonic milliseconds. */
  admits(at: number): boolean {
    return this.#openUntil === null || (at >= this.#openUntil && !this.#trying);
  }

  /** It gets one. */
  given(): void {
    if (this.#openUntil !== null) this.#trying = true;
  }

  /** A run ended; a task that was given back, cancelled or lost says nothing. Answers whether it gets nothing for a while from now on. */
  ended(failed: boolean, durationMs: number, at: number): boolean {
    this.#trying = false;
    if (!failed || durationMs > AT_ONCE_MS) {
      this.#failures = 0;
      this.#openUntil = null;
      return false;
    }
    this.#failures += 1;
    if (this.#failures < FAILURES) return false;
    this.#openUntil = at + OPEN_MS;
    return true;
  }

  /** The try came to nothing: another one may be made. */
  undone(): void {
    this.#trying = false;
  }

  /** Milliseconds until it is tried again; null: it works. */
  waitMs(at: number): number | null {
    return this.#openUntil === null ? null : Math.max(0, this.#openUntil - at);
  }
}
