import { describe, expect, test } from 'vitest';
import { RARE_IN_TREES } from '../../src/fabric/rare.js';
import { simulateTree } from '../../src/fabric/run.js';
import { Coverage } from '../../src/kernel/coverage.js';

/** Runs in one test: few enough for the time a test may take on a machine that is busy. */
const PER_TEST = 10;

/** Short runs with the seeds from `first` to `last`. A failure names its seed and shows what led to it. */
export function treesHold(first: number, last: number): void {
  const coverage = new Coverage();
  describe('a tree of relays keeps its promises under every fault', () => {
    for (let from = first; from <= last; from += PER_TEST) {
      const to = Math.min(from + PER_TEST - 1, last);
      test(`seeds ${from} to ${to}`, async () => {
        for (let seed = from; seed <= to; seed++) {
          const { reached, tail, violation } = await simulateTree(seed);
          coverage.add(reached);
          if (violation === null) continue;
          const replay = `replay with: npm run sim -- --fabric --seed ${seed}`;
          expect.fail(`${tail.join('\n')}\n\n${violation.message}\n${replay}`);
        }
      });
    }

    test('and these runs come to every rare state and moment', () => {
      expect(coverage.missing(RARE_IN_TREES)).toEqual([]);
    });
  });
}
