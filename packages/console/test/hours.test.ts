import { expect, test } from 'vitest';
import { hoursInWords } from '../src/overview/hours-in-words.js';
import { barsOf } from '../src/parts/bars.js';

test('bars are as high as their share of the most, and what there was little of is seen', () => {
  expect(barsOf([0, 1, 50, 100])).toEqual([1, 3, 8, 16]);
  expect(barsOf([0, 0])).toEqual([1, 1]);
});

test('a picture of hours is said in words', () => {
  const begins = ['2026-01-01T10:00:00.000Z', '2026-01-01T11:00:00.000Z'];
  expect(hoursInWords('Nodes that went down', begins, [0, 0])).toBe('Nodes that went down in the last 2 hours: 0');
  const when = new Date(begins[1] ?? '').toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  expect(hoursInWords('Nodes that went down', begins, [1, 4])).toBe(
    `Nodes that went down in the last 2 hours: 5, most in the hour from ${when}: 4`,
  );
});
