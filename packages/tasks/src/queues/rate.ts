/** Most tasks of a queue in a time. As many may come at once, unless some may have come before; then they come evenly. */
export class Rate {
  readonly #tasks: number;
  readonly #perMs: number;
  #left: number;
  #at: number;

  /**
   * @param at Monotonic milliseconds.
   * @param usedUp Nobody knows how many came lately: the next comes when one more may whatever came.
   */
  constructor({ tasks, seconds }: { readonly tasks: number; readonly seconds: number }, at: number, usedUp = false) {
    this.#tasks = tasks;
    this.#perMs = tasks / (seconds * 1000);
    this.#left = usedUp ? 0 : tasks;
    this.#at = at;
  }

  /** Milliseconds until the next may come; 0: now. */
  waitMs(at: number): number {
    this.#refill(at);
    return this.#left >= 1 ? 0 : Math.ceil((1 - this.#left) / this.#perMs);
  }

  take(): void {
    this.#left -= 1;
  }

  #refill(at: number): void {
    this.#left = Math.min(this.#tasks, this.#left + Math.max(0, at - this.#at) * this.#perMs);
    this.#at = at;
  }
}
