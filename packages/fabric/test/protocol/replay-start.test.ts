import { expect, test } from 'vitest';
import { laterAgo, parseFrom } from '../../src/protocol/replay-start.js';

test.each(['first', '17', '2026-11-20T12:00:00Z'])('`from:%s` means the same whenever it is asked', (from) => {
  expect(laterAgo(from, 5000)).toBe(from);
});

test('what is so long ago is longer ago later, rounded to more', () => {
  expect(laterAgo('-2m', 1500)).toBe('-122s');
});

test('the longest time that can be asked for can be asked for again', () => {
  expect(parseFrom(laterAgo('-999999999d', 5000))).not.toBeNull();
});
