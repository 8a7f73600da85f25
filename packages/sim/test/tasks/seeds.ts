import { describe, expect, test } from 'vitest';
import { Coverage } from '../../src/kernel/coverage.js';
import { RARE_IN_TASKS } from '../../src/tasks/rare.js';
import { simulateTasks } from '../../src/tasks/run.js';

/** Runs in one test: few enough for the time a test may take on a machine that is busy. */
const PER_TEST = 100;

/** Short runs with the seeds from `first` to `last`. A failure names its seed and shows what led to it. */
export function holdTasksUnderFaults(first: number, last: number): void {
  const coverage = new Coverage();
  describe('queues and tasks keep their promises under every fault', () => {
    for (let from = first; from <= last; from += PER_TEST) {
      const to = Math.min(from + PER_TEST - 1, last);
      test(`seeds ${from} to ${to}`, async () => {
        for (let seed = from; seed <= to; seed++) {
          const { reached, tail, violation } = await simulateTasks(seed);
          coverage.add(reached);
          if (violation === null) continue;
          expect.fail(`${tail.join('\n')}\n\n${violation.message}\nreplay with: npm run sim -- --tasks --seed ${seed}`);
        }
      });
    }

    test('and these runs come to every rare step and fault', () => {
      expect(coverage.missing(RARE_IN_TASKS)).toEqual([]);
    });
  });
}
