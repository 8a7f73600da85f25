import { ManualClock } from '@muster/base';
import { beforeEach, expect, test } from 'vitest';
import { PendingReceipts } from '../../src/protocol/pending-receipts.js';

let clock: ManualClock;
let awaited: PendingReceipts<string>;
let late: number;
beforeEach(() => {
  clock = new ManualClock();
  late = 0;
  awaited = new PendingReceipts(clock, 10_000, () => {
    late += 1;
  });
});

test('each is asked for with an id of its own, and taken once', () => {
  const ids = [awaited.add('a'), awaited.add('b')];
  expect(ids).toEqual(['1', '2']);
  expect([awaited.take('2'), awaited.take('2'), awaited.take('3')]).toEqual(['b', undefined, undefined]);
  expect(awaited.close()).toEqual(['a']);
});

test('it is late when the oldest has waited for so long', () => {
  awaited.add('a');
  clock.advance(9000);
  awaited.add('b');
  awaited.take('1');
  clock.advance(9999);
  expect(late).toBe(0);
  clock.advance(1);
  expect(late).toBe(1);
});

test('nothing is late that was answered, or after the end', () => {
  awaited.add('a');
  awaited.take('1');
  clock.advance(60_000);
  awaited.add('b');
  awaited.close();
  expect([late, clock.pending]).toEqual([0, 0]);
});

test.each([-3_600_000, 3_600_000])('it is late just as soon when the clock is set by %d ms meanwhile', (ms) => {
  clock.advance(60_000);
  awaited.add('a');
  clock.advance(5000);
  awaited.add('b');
  awaited.take('1');
  clock.set(ms);
  clock.advance(9999);
  expect(late).toBe(0);
  clock.advance(1);
  expect(late).toBe(1);
});
