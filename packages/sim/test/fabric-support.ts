import { describe, expect, test } from 'vitest';
import { simulateTree } from '../src/fabric/run.js';

/** Runs in one test: few enough for the time a test may take on a machine that is busy. */
const PER_TEST = 10;

/** Short runs with the seeds from `first` to `last`. A failure names its seed and shows what led to it. */
export function treesHold(first: number, last: number): void {
  describe('a tree of relays keeps its promises under every fault', () => {
    for (let from = first; from <= last; from += PER_TEST) {
      const to = Math.min(from + PER_TEST - 1, last);
      test(`seeds ${from} to ${to}`, async () => {
        for (let seed = from; seed <= to; seed++) await expectTreeToHold(seed);
      });
    }
  });
}

export async function expectTreeToHold(seed: number): Promise<void> {
  const { violation, tail } = await simulateTree(seed);
  if (violation === null) return;
  expect.fail(`${tail.join('\n')}\n\n${violation.message}\nreplay with: npm run sim -- --fabric --seed ${seed}`);
}
