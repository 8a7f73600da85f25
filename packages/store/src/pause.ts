import type { Clock } from '@muster/base';
import type { Limits } from './limits.js';

/** The wait between attempts: doubles from `retryFirstMs` to `retryMostMs`. */
export class Pause {
  readonly #clock: Clock;
  readonly #limits: Limits;
  #delay: number;
  #wake: (() => void) | null = null;

  constructor(clock: Clock, limits: Limits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#delay = limits.retryFirstMs;
  }

  /** Waits for the next attempt, but not beyond `until`, by the monotonic clock. */
  wait(until: number): Promise<void> {
    const delay = Math.max(0, Math.min(this.#delay, until - this.#clock.monotonic()));
    this.#delay = Math.min(this.#delay * 2, this.#limits.retryMostMs);
    return new Promise((resolve) => {
      const timer = this.#clock.after(delay, () => {
        this.#wake = null;
        resolve();
      });
      this.#wake = () => {
        timer.cancel();
        this.#wake = null;
        resolve();
      };
    });
  }

  /** Ends a wait that is going on, and begins again with the shortest. */
  end(): void {
    this.reset();
    this.#wake?.();
  }

  reset(): void {
    this.#delay = this.#limits.retryFirstMs;
  }
}
