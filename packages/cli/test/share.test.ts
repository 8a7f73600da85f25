import { MusterError } from '@muster/base';
import { expect, test } from 'vitest';
import { batchSize } from '../src/commands/push/batches.js';
import { parseQuorum, parseShare, parseSize } from '../src/share.js';

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

test.each(['', '-1', '1.5', '0.0', 'all', '80 %'])('--quorum %j is refused and says what is expected', (text) => {
  expect(() => parseShare('--quorum', text)).toThrow(MusterError);
  expect(() => parseShare('--quorum', text)).toThrow(/--quorum takes a count/);
});

test.each(['101%', '120%', '100.5%'])('%s is more than there is', (text) => {
  for (const parse of [parseShare, parseSize]) {
    expect(() => parse('--max-failures', text)).toThrow(`--max-failures takes at most 100%, not '${text}'`);
  }
  expect(() => parseQuorum(text)).toThrow('--quorum takes at most 100%');
  expect(() => batchSize(text)).toThrow('--then takes at most 100%');
});

test.each(['0', '0%', '0.0%'])('a quorum of %s would be reached by a job that runs nowhere', (text) => {
  expect(() => parseQuorum(text)).toThrow(`--quorum takes at least one node, not '${text}'`);
  expect(parseQuorum('1')).toBe(1);
  expect(parseQuorum('all')).toBe('100%');
});
