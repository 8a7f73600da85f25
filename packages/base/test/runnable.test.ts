import { expect, test } from 'vitest';
import { isRunnable } from '../src/index.js';

test.each([
  ['#!/bin/sh\n', true],
  ['\x7fELF\x02', true],
  ['echo hi\n', false],
  [' #!/bin/sh\n', false],
  ['\ufeff#!/bin/sh\n', false],
  ['#', false],
  ['', false],
])('%j', (script, runs) => {
  expect(isRunnable(Buffer.from(script))).toBe(runs);
});
