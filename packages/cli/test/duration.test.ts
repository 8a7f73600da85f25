import { MusterError } from '@muster/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../src/duration.js';

test.each([
  ['90', 90],
  ['90s', 90],
  ['10m', 600],
  ['1h', 3600],
  ['30d', 2_592_000],
  ['2w', 1_209_600],
  ['1h30m', 5400],
  ['0.5h', 1800],
  ['0', 0],
])('%s is %d seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.each(['', 'h', '1y', '-5', '1 h', '1e3', 'soon'])('%j is refused', (text) => {
  expect(() => parseDuration(text)).toThrow(MusterError);
});

test.each(['3651d', '9'.repeat(400), `${'9'.repeat(400)}w`])('%.20s is said to be too long', (text) => {
  expect(() => parseDuration(text)).toThrow(`'${text}' is too long: at most 3650d`);
});

test('any text is either a bounded number of seconds or a usage error', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(parseDuration(text)).toBeGreaterThanOrEqual(0);
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
