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

  /** All that was let go has had its time. */
  get isFree(): boolean {
    return this.#freeAt <= this.#clock.monotonic();
  }

  /** How many milliseconds to wait before so many bytes are sent. */
  take(bytes: number): number {
    const now = this.#clock.monotonic();
    const from = Math.max(this.#freeAt, now);
    this.#freeAt = from + bytes / this.#bytesPerMs;
    return from - now;
  }
}

/** Those that are over are looked for when there are so many, or twice as many as were left the last time. */
const FEWEST = 64;

/** A pace for each who fetches, the same one for all that they fetch: who ends one request and begins another has not gained by it. */
export class Paces {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #bytesPerSecond: number;
  readonly #of = new Map<string, { readonly pace: Pace; fetching: number }>();
  #most = FEWEST;

  constructor(clock: Pick<Clock, 'monotonic'>, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Those that are known, fetching or not. */
  get size(): number {
    return this.#of.size;
  }

  begin(name: string): { readonly pace: Pace; readonly end: () => void } {
    if (this.#of.size >= this.#most) this.#forget();
    const own = this.#of.get(name) ?? { pace: new Pace(this.#clock, this.#bytesPerSecond), fetching: 0 };
    this.#of.set(name, own);
    own.fetching += 1;
    return {
      pace: own.pace,
      end: () => {
        own.fetching -= 1;
      },
    };
  }

  #forget(): void {
    for (const [name, { pace, fetching }] of this.#of) if (fetching === 0 && pace.isFree) this.#of.delete(name);
    this.#most = Math.max(FEWEST, 2 * this.#of.size);
  }
}
