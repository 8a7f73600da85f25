import { expect, it } from 'vitest';
import { cmdErrOf, cmdExitOf } from '../src/index.js';

it.each([
  [0, null, 0, '<nil>'],
  [3, null, 3, 'exit status 3'],
  [null, 'SIGKILL', -1, 'signal: killed'],
  [null, 'SIGTERM', -1, 'signal: terminated'],
  [null, 'SIGRT5', -1, 'signal: SIGRT5'],
  [null, null, null, null],
])('exit %s with signal %s is told as %s, %s (sheet §3.5)', (exitCode, signal, cmdExit, cmdErr) => {
  expect(cmdExitOf(exitCode, signal)).toBe(cmdExit);
  expect(cmdErrOf(exitCode, signal)).toBe(cmdErr);
});
