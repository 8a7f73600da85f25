import { expect, test } from 'vitest';
import { hoursInWords, hoursText } from '../src/overview/hours-in-words.js';
import { barsOf } from '../src/parts/bars.js';
import { timeOfDay } from '../src/parts/when.js';

test('bars are as high as their share of the most, and what there was little of is seen', () => {
  expect(barsOf([0, 1, 50, 100])).toEqual([1, 3, 8, 16]);
  expect(barsOf([0, 0])).toEqual([1, 1]);
});

test('a picture of hours is said in words', () => {
  const begins = ['2026-01-01T10:00:00.000Z', '2026-01-01T11:00:00.000Z'];
  expect(hoursInWords('Nodes that went down', begins, [0, 0])).toBe('Nodes that went down in the last 2 hours: 0');
  const when = timeOfDay(Date.parse(begins[1] ?? ''));
  expect(hoursInWords('Nodes that went down', begins, [1, 4])).toBe(
    `Nodes that went down in the last 2 hours: 5, most in the hour from ${when}: 4`,
  );
});

test('beside a picture of hours stands its peak', () => {
  expect(hoursText({ per_hour: [1, 4], total: 5 }, 3)).toBe('at most 4 an hour, 5 in 2 hours; came up 3 ×');
  expect(hoursText({ per_hour: [0, 0], total: 0 }, 0)).toBe('0 in 2 hours; came up 0 ×');
});
