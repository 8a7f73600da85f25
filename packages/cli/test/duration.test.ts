import { MusterError } from '@muster/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { duration, durationOf, formatDuration } from '../src/duration.js';

test('a duration is read as seconds', () => {
  expect(durationOf('--ttl', '1h30m')).toBe(5400);
  expect(duration('--ttl')('500ms')).toBe(0.5);
});

test('what is no duration is refused by the name of its flag', () => {
  expect(() => durationOf('--ttl', 'soon')).toThrow("--ttl: 'soon' is not a duration; write it like 500ms, 90s");
});

test.each(['3651d', '9'.repeat(400), `${'9'.repeat(400)}w`])('%.20s is said to be too long', (text) => {
  expect(() => durationOf('--ttl', text)).toThrow(`--ttl: '${text}' is too long: at most 3650d`);
});

test('ten years are not', () => {
  expect(durationOf('--ttl', '3650d')).toBe(315_360_000);
});

test('any text is either a bounded number of seconds or a usage error', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(durationOf('--ttl', text)).toBeGreaterThanOrEqual(0);
      } catch (error) {
        expect(error).toBeInstanceOf(MusterError);
      }
    }),
  );
});

test.each([
  [0, '0s'],
  [59.9, '59s'],
  [125, '2m 05s'],
  [3600 * 3 + 240, '3h 04m'],
  [86_400 * 2 + 3600 * 3, '2d 03h'],
])('%d seconds read as %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});
