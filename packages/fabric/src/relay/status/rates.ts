import type { Clock, Timer } from '@muster/base';
import { RATED, type RatedCounter, type RelayCounter } from './status.js';

const SAMPLE_MS = 1000;
/** Rates are over the time of so many samples. */
const SAMPLES = 10;

type Totals = Readonly<Record<RelayCounter, number>>;

/** How fast counters have grown lately. */
export class Rates {
  readonly #clock: Clock;
  readonly #totals: () => Totals;
  /** Oldest first. */
  #samples: { readonly atMs: number; readonly totals: Totals }[] = [];
  #timer: Timer;

  constructor(clock: Clock, totals: () => Totals) {
    this.#clock = clock;
    this.#totals = totals;
    this.#timer = this.#sample();
  }

  /** Per second. */
  now(): Record<RatedCounter, number> {
    const oldest = this.#samples[0];
    const elapsedMs = oldest === undefined ? 0 : this.#clock.monotonic() - oldest.atMs;
    const totals = this.#totals();
    const rates = RATED.map((name) => {
      const grown = totals[name] - (oldest?.totals[name] ?? 0);
      return [name, elapsedMs > 0 ? (grown * 1000) / elapsedMs : 0] as const;
    });
    return Object.fromEntries(rates) as Record<RatedCounter, number>;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #sample(): Timer {
    this.#samples.push({ atMs: this.#clock.monotonic(), totals: this.#totals() });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    return this.#clock.after(SAMPLE_MS, () => {
      this.#timer = this.#sample();
    });
  }
}
