import { expect, test } from 'vitest';
import { interpreterOf, notRunnable } from '../src/index.js';

test.each([
  ['#!/bin/sh\n', null],
  ['#!/bin/sh', null],
  ['\x7fELF\x02\r\n', null],
  ['#!/bin/sh\necho\r\n', null],
  ['echo hi\n', 'names its interpreter'],
  [' #!/bin/sh\n', 'names its interpreter'],
  ['\ufeff#!/bin/sh\n', 'names its interpreter'],
  ['#', 'names its interpreter'],
  ['', 'names its interpreter'],
  ['#!/bin/sh\r\necho\r\n', 'carriage return'],
  ['#!/bin/sh\r', 'carriage return'],
])('%j', (script, why) => {
  const said = notRunnable(Buffer.from(script));
  if (why === null) expect(said).toBeNull();
  else expect(said).toContain(why);
});

test.each([
  ['#!/bin/sh\n', '/bin/sh'],
  ['#! /usr/bin/env bash\n', '/usr/bin/env'],
  ['#!/bin/sh', '/bin/sh'],
  ['#!\n/bin/sh', null],
  ['echo #!/bin/sh\n', null],
])('the interpreter of %j', (script, interpreter) => {
  expect(interpreterOf(Buffer.from(script))).toBe(interpreter);
});
