import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TASK_LIMITS } from '../src/limits.js';
import { NEW_TASK } from '../src/machine.js';
import { Lane, type Place, type ReadyTask } from '../src/queues/lane.js';

const ready = (id: number, rank = 0): ReadyTask => ({
  id: id.toString(16).padStart(24, '0'),
  rank,
  lane: '',
  ctime: 0,
  requester: 'anna',
  state: NEW_TASK,
  params: '{}',
  retries: null,
  timeout: null,
  expiresAt: null,
  secrets: null,
});

/** What is stored: read as a store would, in order, behind a place. */
class Stored {
  readonly #tasks = new Map<string, ReadyTask>();
  readonly #sort: 'fifo' | 'lifo';

  constructor(sort: 'fifo' | 'lifo') {
    this.#sort = sort;
  }

  add(task: ReadyTask): void {
    this.#tasks.set(task.id, task);
  }

  delete(id: string): void {
    this.#tasks.delete(id);
  }

  inOrder(): ReadyTask[] {
    return [...this.#tasks.values()].sort((a, b) => this.#compare(a, b));
  }

  behind(after: Place | null, limit: number): ReadyTask[] {
    return this.inOrder()
      .filter((task) => after === null || this.#compare(after, task) < 0)
      .slice(0, limit);
  }

  #compare(a: Place, b: Place): number {
    if (a.rank !== b.rank) return a.rank - b.rank;
    const byId = a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
    return this.#sort === 'lifo' ? -byId : byId;
  }
}

describe('a lane', () => {
  test.each(['fifo', 'lifo'] as const)('gives out what is stored in the order %s, however it got there', (sort) => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), rank: fc.integer({ min: -1, max: 1 }) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('fill' as const), limit: fc.integer({ min: 1, max: 4 }) }) },
    );
    fc.assert(
      fc.property(fc.nat(8), fc.array(step, { maxLength: 60 }), (before, steps) => {
        const stored = new Stored(sort);
        let next = 0;
        for (; next < before; next++) stored.add(ready(next));
        const lane = new Lane('', sort, false);
        const fill = (limit: number): void => {
          const read = stored.behind(lane.beginFill(), limit);
          lane.endFill(read, read.length < limit ? null : (read.at(-1) ?? null));
        };
        for (const one of steps) {
          if (one.do === 'add') {
            const task = ready(next++, one.rank);
            stored.add(task);
            lane.offer(task);
          } else if (one.do === 'fill') fill(one.limit);
          else if (one.do === 'remove') {
            const task = stored.inOrder()[one.which];
            if (task === undefined) continue;
            stored.delete(task.id);
            lane.remove(task.id);
          } else {
            if (lane.size === 0 && !lane.complete) fill(2);
            const [first] = stored.inOrder();
            const taken = lane.take();
            expect(taken?.id).toBe(lane.size === 0 && taken === undefined && !lane.complete ? undefined : first?.id);
            if (taken !== undefined) stored.delete(taken.id);
          }
        }
      }),
    );
  });

  test('keeps no more than fits, and reads the rest when its turn comes', () => {
    const stored = new Stored('fifo');
    const lane = new Lane('', 'fifo', true);
    const all = TASK_LIMITS.window + 100;
    for (let id = 0; id < all; id++) {
      stored.add(ready(id));
      lane.offer(ready(id));
    }
    expect(lane.size).toBe(TASK_LIMITS.window);
    for (let id = 0; id < all; id++) {
      if (lane.low) {
        const read = stored.behind(lane.beginFill(), TASK_LIMITS.window);
        lane.endFill(read, null);
      }
      expect(lane.take()?.id).toBe(ready(id).id);
    }
    expect(lane.take()).toBeUndefined();
  });
});
