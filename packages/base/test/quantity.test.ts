import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { durationText, expectedQuantity, parseDuration, parseQuantity, parseSize, sizeText } from '../src/index.js';

describe('durations', () => {
  test.each([
    ['90', 90],
    ['0.25', 0.25],
    ['500ms', 0.5],
    ['90s', 90],
    ['10m', 600],
    ['1h', 3600],
    ['30d', 2_592_000],
    ['2w', 1_209_600],
    ['1h30m', 5400],
    ['1m500ms', 60.5],
    ['0.5h', 1800],
    [' 7d\n', 604_800],
    ['0', 0],
  ])('%j is %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  test.each(['', 'h', '1y', '-5', '1 h', '1e3', '10M', '1h30', '.5s', '5ms3', 'soon'])('%j is none', (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  test.each([
    [0, '0s'],
    [0.05, '50ms'],
    [1, '1s'],
    [1.001, '1001ms'],
    [90, '90s'],
    [5400, '90m'],
    [3600, '1h'],
    [604_800, '7d'],
    [31_536_000, '365d'],
  ])('%d seconds are written %s', (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });

  test('what is written is read as the same', () => {
    fc.assert(
      fc.property(fc.nat(), (ms) => {
        expect(parseDuration(durationText(ms / 1000))).toBe(ms / 1000);
      }),
    );
  });
});

describe('sizes', () => {
  test.each([
    ['65536', 65_536],
    ['512B', 512],
    ['64KiB', 65_536],
    ['10MiB', 10_485_760],
    ['1GiB', 1_073_741_824],
    ['1TiB', 1_099_511_627_776],
    ['1.5GiB', 1_610_612_736],
    ['1kB', 1000],
    ['1KB', 1000],
    ['10MB', 10_000_000],
    ['2GB', 2_000_000_000],
    ['1TB', 1_000_000_000_000],
    ['0', 0],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test('parts of a byte are rounded', () => {
    expect(parseSize('0.1KiB')).toBe(102);
  });

  test.each(['', 'KiB', '1K', '1M', '1G', '1 GiB', '1gib', '1Mb', '1kiB', '-1', '1e6', '1PiB', '1GiB2', 'large'])(
    '%j is none',
    (text) => {
      expect(parseSize(text)).toBeNull();
    },
  );

  test.each([
    [0, '0B'],
    [256, '256B'],
    [4096, '4KiB'],
    [1_000_000, '1MB'],
    [1_024_000, '1000KiB'],
    [1_073_741_824, '1GiB'],
    [2_147_483_647, '2147483647B'],
  ])('%d bytes are written %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });

  test('what is written is read as the same', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 41 }), (bytes) => {
        expect(parseSize(sizeText(bytes))).toBe(bytes);
      }),
    );
  });
});

describe('quantities', () => {
  test('a unit decides how text is read', () => {
    expect([parseQuantity('seconds', '1m'), parseQuantity('bytes', '1MB')]).toEqual([60, 1_000_000]);
    expect([parseQuantity('seconds', '1MB'), parseQuantity('bytes', '1m')]).toEqual([null, null]);
  });

  test('what is accepted is told in the same words in which it may be given', () => {
    expect(expectedQuantity({ unit: 'seconds', minimum: 0.05, maximum: 3600 })).toBe(
      'a duration from 50ms to 1h (such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds)',
    );
    expect(expectedQuantity({ unit: 'bytes', minimum: 256, maximum: 262_144 })).toBe(
      'a size from 256B to 256KiB (such as 64KiB, 10MB or 1GiB, or a number of bytes)',
    );
  });

  test('long text is read in no time', () => {
    expect(parseDuration(`${'1s'.repeat(100_000)}x`)).toBeNull();
    expect(parseSize(`${'9'.repeat(100_000)}x`)).toBeNull();
  });
});
