import type { Clock } from '@muster/base';
import type { Pace } from './limits.js';

/** Idle keys are forgotten when so many times of others were taken. */
const SWEEP = 1_000;

/** A sliding window: at most so many in so long, for each key (sheet §6.5). */
export class Window {
  readonly #pace: Pace;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #times = new Map<string, number[]>();
  #taken = 0;

  constructor(pace: Pace, clock: Pick<Clock, 'monotonic'>) {
    this.#pace = pace;
    this.#clock = clock;
  }

  /** False: the limit is reached, and this one does not count. */
  take(key = ''): boolean {
    this.#sweep();
    const times = this.#recent(key);
    this.#times.set(key, times);
    if (times.length >= this.#pace.limit) return false;
    times.push(this.#clock.monotonic());
    return true;
  }

  /** How many count now. */
  count(key = ''): number {
    return this.#recent(key).length;
  }

  get keys(): number {
    return this.#times.size;
  }

  #recent(key: string): number[] {
    const since = this.#clock.monotonic() - this.#pace.windowMs;
    return (this.#times.get(key) ?? []).filter((time) => time > since);
  }

  #sweep(): void {
    this.#taken += 1;
    if (this.#taken < SWEEP) return;
    this.#taken = 0;
    for (const key of this.#times.keys()) if (this.#recent(key).length === 0) this.#times.delete(key);
  }
}
