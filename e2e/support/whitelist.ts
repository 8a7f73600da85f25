import type { Whitelist } from './chef2-command.js';

/**
 * The acceptance suite's whitelist (sheet §9.1), without its sleeps: a command that has to take a while is `held`, it
 * ends when the test says so.
 */
export const WHITELIST: Whitelist = [
  [/^sleep \d+$/, { held: true }],
  ['held', { held: true }],
  ['naïve', { held: true }],
  ['this_oughta_succeed', 'echo true'],
  ['this_oughta_fail', 'exit 1'],
  ['fails on DONKEY', 'test "$CHEF_PUSH_NODE_NAME" != DONKEY'],
  ['capture_test', 'echo testout; echo testerr >&2'],
  ['capture_test_fail', 'echo testout; echo testerr >&2; exit 1'],
  ['capture_test_empty', 'true'],
  ['capture_test_no_out', 'echo testerr >&2'],
  ['capture_test_no_err', 'echo testout'],
];
