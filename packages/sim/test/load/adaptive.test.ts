import { expect, test } from 'vitest';
import { adaptively, Busy } from '../../src/load/adaptive.js';

const at = async () => undefined;
const items = Array.from({ length: 200 }, (_, n) => n);

/** A server that has time for so many at once. */
function serverFor(capacity: number) {
  const state = { under: 0, done: new Set<number>(), attempts: 0, refused: 0 };
  const work = async (item: number): Promise<void> => {
    state.attempts += 1;
    state.under += 1;
    try {
      const busy = state.under > capacity;
      await new Promise(setImmediate);
      if (busy) {
        state.refused += 1;
        throw new Busy('503');
      }
      state.done.add(item);
    } finally {
      state.under -= 1;
    }
  };
  return { state, work };
}

test('where the server has no time for as many at once, all is done with fewer at a time', async () => {
  const { state, work } = serverFor(3);
  await adaptively(items, 32, work, at);
  expect(state.done.size).toBe(items.length);
  // Tried again and again as many at once, most attempts would be refused.
  expect(state.refused).toBeLessThan(state.attempts / 2);
});

test('where it has, nothing is tried twice', async () => {
  const { state, work } = serverFor(32);
  await adaptively(items, 32, work, at);
  expect(state.attempts).toBe(items.length);
});

test('what is never answered is given up, and said with the last answer', async () => {
  const never = async () => {
    throw new Busy('registering sim-00000: no answer');
  };
  await expect(adaptively([1, 2, 3], 2, never, at)).rejects.toThrow(
    'registering sim-00000: no answer; tried 12 times, at last 1 at a time',
  );
});

test('a failure of another kind ends it at once', async () => {
  let attempts = 0;
  const wrong = async () => {
    attempts += 1;
    throw new Error('401');
  };
  await expect(adaptively([1], 2, wrong, at)).rejects.toThrow('401');
  expect(attempts).toBe(1);
});
