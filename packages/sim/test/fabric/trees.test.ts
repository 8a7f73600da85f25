import { describe, expect, test } from 'vitest';
import { RARE_IN_TREES } from '../../src/fabric/rare.js';
import { simulateTree } from '../../src/fabric/run.js';
import { Coverage } from '../../src/kernel/coverage.js';

/** Runs in one test: few enough for the time a test may take on a machine that is busy. */
const PER_TEST = 10;

const SEEDS = 250;

/** Short runs. A failure names its seed and shows what led to it. */
describe('a tree of relays keeps its promises under every fault', () => {
  const coverage = new Coverage();
  for (let from = 1; from <= SEEDS; from += PER_TEST) {
    const to = Math.min(from + PER_TEST - 1, SEEDS);
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
