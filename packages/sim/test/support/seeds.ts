import { describe, expect, test } from 'vitest';
import { simulate } from '../../src/simulation/run.js';

/** Runs in one test: few enough for the time a test may take on a machine that is busy. */
const PER_TEST = 50;

/** Short runs with the seeds from `first` to `last`. A failure names its seed and shows what led to it. */
export function holdUnderFaults(first: number, last: number): void {
  describe('push jobs keep their promises under every fault', () => {
    for (let from = first; from <= last; from += PER_TEST) {
      const to = Math.min(from + PER_TEST - 1, last);
      test(`seeds ${from} to ${to}`, async () => {
        for (let seed = from; seed <= to; seed++) await expectToHold(seed);
      });
    }
  });
}

export async function expectToHold(seed: number): Promise<void> {
  const { violation, tail } = await simulate(seed);
  if (violation === null) return;
  expect.fail(`${tail.join('\n')}\n\n${violation.message}\nreplay with: npm run sim -- --seed ${seed}`);
}
