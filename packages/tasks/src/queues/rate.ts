/** Most tasks of a queue in a time. As many may come at once; then they come evenly. */
export class Rate {
  readonly #tasks: number;
  readonly #perMs: number;
  #left: number;
  #at: number;

  /** @param at Monotonic milliseconds. */
  constructor({ tasks, seconds }: { readonly tasks: number; readonly seconds: number }, at: number) {
    this.#tasks = tasks;
    this.#perMs = tasks / (seconds * 1000);
    this.#left = tasks;
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
