/** Over how long it is looked how fast a node works. */
const WINDOW_MS = 1000;

/** How fast a node ends tasks: so many a second, lately. */
export class Pace {
  #perSecond = 0;
  #count = 0;
  #since = 0;

  /** @param at Monotonic milliseconds. */
  ended(tasks: number, at: number): void {
    if (this.#count === 0 && this.#perSecond === 0) this.#since = at - 1;
    this.#count += tasks;
    const passed = at - this.#since;
    if (passed < WINDOW_MS / 10) {
      // A burst that has just begun: what it promises counts at once.
      this.#perSecond = Math.max(this.#perSecond, (this.#count * 1000) / Math.max(passed, 10));
      return;
    }
    const measured = (this.#count * 1000) / passed;
    const share = Math.min(1, passed / WINDOW_MS);
    this.#perSecond += (measured - this.#perSecond) * Math.max(share, 0.2);
    this.#count = 0;
    this.#since = at;
  }

  /** So many tasks end in this time. */
  within(ms: number): number {
    return Math.floor((this.#perSecond * ms) / 1000);
  }
}
