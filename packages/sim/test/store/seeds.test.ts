import { describe, expect, test } from 'vitest';
import { Coverage } from '../../src/kernel/coverage.js';
import { RARE_IN_STORES } from '../../src/store/rare.js';
import { simulateStore } from '../../src/store/run.js';

const SEEDS = 200;
const PER_TEST = 50;

describe('a store keeps its promises whatever its database does', () => {
  const coverage = new Coverage();
  for (let from = 1; from <= SEEDS; from += PER_TEST) {
    const to = from + PER_TEST - 1;
    test(`seeds ${from} to ${to}`, async () => {
      for (let seed = from; seed <= to; seed++) {
        const { reached, tail, violation } = await simulateStore(seed);
        coverage.add(reached);
        if (violation === null) continue;
        expect.fail(`${tail.join('\n')}\n\n${violation.message}\nreplay with: npm run sim -- --store --seed ${seed}`);
      }
    });
  }

  test('and these runs come to every rare moment', () => {
    expect(coverage.missing(RARE_IN_STORES)).toEqual([]);
  });
});
