import { expect, test } from 'vitest';
import { oneAtATime } from '../src/session/one-at-a-time.js';
import { whilePresent } from '../src/session/presence.js';

const MINUTE = 60_000;

test('whoever is there and asks nothing is told of once in five minutes, and nobody who is away', () => {
  const page = new EventTarget();
  let now = 0;
  let told = 0;
  const stop = whilePresent(
    page,
    () => {
      told += 1;
    },
    () => now,
  );
  page.dispatchEvent(new Event('keydown'));
  expect(told).toBe(0);
  now = 5 * MINUTE;
  expect(told).toBe(0);
  page.dispatchEvent(new Event('wheel'));
  page.dispatchEvent(new Event('pointerdown'));
  expect(told).toBe(1);
  now = 9 * MINUTE;
  page.dispatchEvent(new Event('wheel'));
  expect(told).toBe(1);
  now = 10 * MINUTE;
  page.dispatchEvent(new Event('keydown'));
  expect(told).toBe(2);
  stop();
  now = 20 * MINUTE;
  page.dispatchEvent(new Event('keydown'));
  expect(told).toBe(2);
});

test('attempts that follow each other faster than tickets come share one', async () => {
  const answers: ((ticket: string) => void)[] = [];
  const ticket = oneAtATime(() => new Promise<string>((resolve) => answers.push(resolve)));
  const [first, second] = [ticket(), ticket()];
  answers[0]?.('a');
  expect([await first, await second]).toEqual(['a', 'a']);
  const third = ticket();
  answers[1]?.('b');
  expect(await third).toBe('b');
  expect(answers).toHaveLength(2);
});
