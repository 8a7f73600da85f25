import { ManualClock } from '@muster/base';
import { expect, test } from 'vitest';
import { every } from '../src/rounds.js';

test('a round comes every period, without drift', () => {
  const clock = new ManualClock(0);
  const at: number[] = [];
  every(clock, 100, () => at.push(clock.now()));
  clock.advance(350);
  expect(at).toEqual([100, 200, 300]);
});

test('after a stall one round says how late it is, and the others are not made up for', () => {
  let now = 0;
  let due: (() => void) | null = null;
  const clock = {
    now: () => now,
    monotonic: () => now,
    after(_delayMs: number, work: () => void) {
      due = work;
      return { cancel: () => undefined };
    },
  };
  const late: number[] = [];
  every(clock, 100, (lateMs) => late.push(lateMs));
  for (now of [450, 500, 600]) (due as (() => void) | null)?.();
  expect(late).toEqual([350, 0, 0]);
});

test('a clock that was set forward is told as a stall: by it everybody has been silent for as long', () => {
  const clock = new ManualClock(0);
  const late: number[] = [];
  every(clock, 100, (lateMs) => late.push(lateMs));
  clock.set(250);
  clock.advance(100);
  clock.advance(100);
  expect(late).toEqual([250, 0]);
});

test('none comes after it was cancelled, also from within a round', () => {
  const clock = new ManualClock(0);
  let rounds = 0;
  const timer = every(clock, 100, () => {
    rounds += 1;
    timer.cancel();
  });
  clock.advance(1000);
  expect(rounds).toBe(1);
  expect(clock.pending).toBe(0);
});

test('a clock that is set back does not stretch a round', () => {
  let now = 1_000_000;
  const delays: number[] = [];
  let due: (() => void) | null = null;
  const clock = {
    now: () => now,
    monotonic: () => now,
    after(delayMs: number, work: () => void) {
      delays.push(delayMs);
      due = work;
      return { cancel: () => undefined };
    },
  };
  every(clock, 100, () => undefined);
  now = 0;
  (due as (() => void) | null)?.();
  (due as (() => void) | null)?.();
  expect(delays).toEqual([100, 100, 100]);
});
