import { expect, test } from 'vitest';
import { Coverage } from '../../src/kernel/coverage.js';
import type { Exploration } from '../../src/kernel/explore.js';

export interface Promises extends Pick<Exploration, 'simulate' | 'rare'> {
  /** Of `npm run sim --`, between it and the seed. */
  readonly flags: string;
  /** Runs in one test: few enough for the time a test may take on a machine that is busy. */
  readonly perTest: number;
}

/** Short runs with the seeds from `first` to `last`. A failure names its seed and shows what led to it. */
export function holdUnderFaults({ simulate, rare, flags, perTest }: Promises, first: number, last: number): void {
  const coverage = new Coverage();
  for (let from = first; from <= last; from += perTest) {
    const to = Math.min(from + perTest - 1, last);
    test(`seeds ${from} to ${to}`, async () => {
      for (let seed = from; seed <= to; seed++) {
        const { reached, tail, violation } = await simulate(seed, {});
        coverage.add(reached);
        if (violation === null) continue;
        expect.fail(`${tail.join('\n')}\n\n${violation.message}\nreplay with: npm run sim --${flags} --seed ${seed}`);
      }
    });
  }

  test('and these runs come to every rare state and moment', () => {
    expect(coverage.missing(rare)).toEqual([]);
  });
}
