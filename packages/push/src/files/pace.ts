import type { Clock } from '@muster/base';

/** Bytes go out no faster than this on the average: each who asks is told when, in the order in which they ask. */
export class Pace {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #bytesPerMs: number;
  #freeAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic'>, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** How many milliseconds to wait before so many bytes are sent. */
  take(bytes: number): number {
    const now = this.#clock.monotonic();
    const from = Math.max(this.#freeAt, now);
    this.#freeAt = from + bytes / this.#bytesPerMs;
    return from - now;
  }
}
