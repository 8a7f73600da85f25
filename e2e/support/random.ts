import { testSeed } from '../../scripts/test-seed.js';

/** Random choices that a printed seed repeats. */
export interface Random {
  readonly seed: number;
  /** At least 0, below 1. */
  fraction(): number;
  /** An integer of at least 0, below `limit`. */
  below(limit: number): number;
  chance(probability: number): boolean;
  /** At least one of them. */
  some<T>(items: readonly T[]): T[];
}

/** Mulberry32: small, and good enough to choose moments. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(fraction() * limit);
  return {
    seed,
    fraction,
    below,
    chance: (probability) => fraction() < probability,
    some: (items) => {
      const first = below(items.length);
      return items.filter((_, n) => n === first || fraction() < 0.7);
    },
  };
}

/** The seed is printed, so that any run can be repeated. */
export function randomOfThisRun(what: string): Random {
  const seed = testSeed() ?? Math.floor(Math.random() * 2 ** 32);
  console.log(`${what}: MUSTER_TEST_SEED=${seed}`);
  return seededRandom(seed);
}
