import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mostTasks, type QueueLoad, sharedThreads } from '../../src/disbatch/balance/shares.js';

const at = (day: number, time: string) => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return { day, minute: hours * 60 + minutes };
};

describe('how many tasks may run', () => {
  const plan = { max_tasks: { '* 07:00': 5, '* 07:30': 6, '* 19:00': 10, '5 19:00': 15 } };

  test('is what the latest time that has come says', () => {
    expect(mostTasks(plan, at(1, '08:00'))).toBe(6);
    expect(mostTasks(plan, at(1, '19:00'))).toBe(10);
  });

  test('does not run ahead within an hour', () => {
    expect(mostTasks(plan, at(1, '07:10'))).toBe(5);
  });

  test('is what the last time of the day says before the first', () => {
    expect(mostTasks(plan, at(1, '06:59'))).toBe(10);
  });

  test('is what is said of a day rather than of every day', () => {
    expect(mostTasks(plan, at(5, '20:00'))).toBe(15);
    expect(mostTasks({ max_tasks: { '5 19:00': 15, '* 19:00': 10 } }, at(5, '20:00'))).toBe(15);
  });

  test('is unknown when nothing is said', () => {
    expect(mostTasks({ max_tasks: {} }, at(1, '12:00'))).toBeNull();
    expect(mostTasks({ max_tasks: { '3 12:00': 1 } }, at(1, '12:00'))).toBeNull();
  });
});

describe('threads', () => {
  const share = (
    groups: string[][],
    queued: Record<string, number>,
    most: number,
    running: Record<string, number> = {},
  ) =>
    Object.fromEntries(
      sharedThreads(
        groups,
        new Map(groups.flat().map((name) => [name, { queued: queued[name] ?? 0, running: running[name] ?? 0 }])),
        most,
      ),
    );

  test('go to the urgent groups first, and what is left to the default one', () => {
    expect(share([['bulk'], ['api'], ['oneoff']], { bulk: 100, api: 2, oneoff: 1 }, 10)).toEqual({
      bulk: 7,
      api: 2,
      oneoff: 1,
    });
  });

  test('are shared within a group, and what is over goes to the first that could use it', () => {
    expect(share([['a', 'b', 'c']], { a: 100, b: 1, c: 100 }, 10)).toEqual({ a: 6, b: 1, c: 3 });
  });

  test('are all of the default group while nothing is urgent', () => {
    expect(share([['bulk'], ['api']], { bulk: 100 }, 5)).toEqual({ bulk: 5, api: 0 });
  });

  test('of a queue whose last tasks wait count those that run', () => {
    expect(share([['a']], { a: 1 }, 5, { a: 4 })).toEqual({ a: 5 });
  });

  test('never pass the limit, nor what a queue could use', () => {
    const load = fc.record({ queued: fc.nat(50), running: fc.constant(0) }) as fc.Arbitrary<QueueLoad>;
    fc.assert(
      fc.property(fc.array(fc.array(load, { maxLength: 4 }), { maxLength: 4 }), fc.nat(60), (loads, most) => {
        const named = loads.map((group, g) => group.map((one, n) => [`q${g}-${n}`, one] as const));
        const shares = sharedThreads(
          named.map((group) => group.map(([name]) => name)),
          new Map(named.flat()),
          most,
        );
        const all = [...shares.values()];
        expect(all.every((share) => Number.isInteger(share) && share >= 0)).toBe(true);
        expect(all.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(most);
      }),
    );
  });
});
