import type { Clock, Timer } from './clock.js';

/** Longest time that is waited at once: the clock may be set meanwhile. */
const LONGEST_MS = 60_000;

/** Wakes at the earliest of the times that it is given, by the clock as people have set it. */
export class Waker {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #timer: Timer | null = null;
  #at: number | null = null;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** @param at Milliseconds since the epoch. */
  by(at: number): void {
    if (this.#at !== null && this.#at <= at) return;
    this.#at = at;
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    if (this.#at === null) return;
    const left = Math.max(0, this.#at - this.#clock.now());
    this.#timer = this.#clock.after(Math.min(left, LONGEST_MS), () => {
      if (this.#at !== null && this.#clock.now() < this.#at) return this.#arm();
      this.#at = null;
      this.#wake();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#at = null;
  }
}
