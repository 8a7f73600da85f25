import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../src/client/events/event-queue.js';

function made(most = 4) {
  let changes = 0;
  const queue = new EventQueue<number>(most, () => changes++);
  return { queue, changes: () => changes };
}

describe('a queue of events', () => {
  it('gives them in order, to whoever waited first', async () => {
    const { queue } = made();
    const waiting = [queue.next(), queue.next()];
    for (const value of [1, 2, 3]) queue.push(value, 1);
    expect((await Promise.all([...waiting, queue.next()])).map(({ value }) => value)).toEqual([1, 2, 3]);
  });

  it('is full beyond its limit, and not any more at half of it', async () => {
    const { queue, changes } = made(4);
    for (let value = 1; value <= 4; value++) queue.push(value, 1);
    expect(queue.full).toBe(false);
    queue.push(5, 1);
    expect(queue.full).toBe(true);
    await queue.next();
    await queue.next();
    expect([queue.full, changes()]).toEqual([true, 1]);
    await queue.next();
    expect([queue.full, changes()]).toEqual([false, 2]);
  });

  it('ends after what is there', async () => {
    const { queue } = made();
    queue.push(1, 1);
    queue.finish(null);
    queue.push(2, 1);
    expect([await queue.next(), await queue.next()]).toEqual([
      { done: false, value: 1 },
      { done: true, value: undefined },
    ]);
  });

  it('tells an error once, after what is there', async () => {
    const { queue } = made();
    queue.push(1, 1);
    queue.finish(new Error('over'));
    expect((await queue.next()).value).toBe(1);
    await expect(queue.next()).rejects.toThrow('over');
    expect((await queue.next()).done).toBe(true);
  });

  it('tells an error to the first of those who wait', async () => {
    const { queue } = made();
    const [first, second] = [queue.next(), queue.next()];
    queue.finish(new Error('over'));
    await expect(first).rejects.toThrow('over');
    expect((await second).done).toBe(true);
  });

  it('that is dropped gives nothing more, and is not full', async () => {
    const { queue, changes } = made(1);
    for (const value of [1, 2, 3]) queue.push(value, 1);
    queue.drop();
    expect((await queue.next()).done).toBe(true);
    expect([queue.full, changes()]).toEqual([false, 2]);
  });

  it('gives many in order', async () => {
    const { queue } = made(1_000_000);
    const values = Array.from({ length: 20_000 }, (_, index) => index);
    for (const value of values) queue.push(value, 1);
    const got: (number | undefined)[] = [];
    while (got.length < values.length) got.push((await queue.next()).value);
    expect(got).toEqual(values);
  });
});
