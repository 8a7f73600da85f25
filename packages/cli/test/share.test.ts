import { MusterError } from '@muster/base';
import { expect, test } from 'vitest';
import { parseShare } from '../src/share.js';

test.each([
  ['3', 3],
  ['0', 0],
  ['0.8', 0.8],
  ['.5', 0.5],
  ['80%', '80%'],
  ['12.5%', '12.5%'],
])('--quorum %s travels as %j', (text, value) => {
  expect(parseShare('--quorum', text)).toBe(value);
});

test.each(['', '-1', '1.5', '101%', '0.0', 'all', '80 %'])(
  '--quorum %j is refused and says what is expected',
  (text) => {
    expect(() => parseShare('--quorum', text)).toThrow(MusterError);
    expect(() => parseShare('--quorum', text)).toThrow(/--quorum takes a count/);
  },
);
