import { expect, test } from 'vitest';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** Push Jobs §1.1 writes the command without `--`; a command with options needs it. */

test.each([
  ['push start role:web uname -a', '-a', 'muster push start role:web -- uname -a'],
  ['push start role:web --quorum 80% df -k /', '-k', 'muster push start role:web --quorum 80% -- df -k /'],
  ['push start --quorum=80% role:web df -k', '-k', 'muster push start --quorum=80% role:web -- df -k'],
  ['push start --node-group web ls -l', '-l', 'muster push start --node-group web -- ls -l'],
  ['--json push start --yes role:web ls -l', '-l', 'muster --json push start --yes role:web -- ls -l'],
  ['push rerun 3f2a uname -a', '-a', 'muster push rerun 3f2a -- uname -a'],
])('%s: says where -- belongs, in the whole line', async (line, option, fix) => {
  const world = testWorld();
  expect(await run(line.split(' '), world)).toBe(2);
  expect(world.err()).toBe(
    `error: unknown option '${option}': without -- before the command its options are taken for those of muster\nfix: Put -- before the command: ${fix}\n`,
  );
});

test('what needs quotes in a shell has them in that line', async () => {
  const world = testWorld();
  expect(await run(['push', 'start', 'role:web AND env:prod', 'uname', '-a'], world)).toBe(2);
  expect(world.err()).toContain(
    "fix: Put -- before the command: muster push start 'role:web AND env:prod' -- uname -a\n",
  );
});

test('where no command can be told from the rest, the form is shown', async () => {
  const world = testWorld();
  expect(await run(['push', 'start', '--node', 'web1', 'uname', '-a'], world)).toBe(2);
  expect(world.err()).toContain('fix: Put -- before the command: muster push start [options] [QUERY] -- COMMAND...\n');
});

test('after -- an unknown option is one of muster, and nothing else', async () => {
  const world = testWorld();
  expect(await run(['push', 'start', 'role:web', '--quorun', '80%', '--', 'x'], world)).toBe(2);
  expect(world.err()).toContain("error: unknown option '--quorun'");
  expect(world.err()).toContain('Did you mean --quorum?');
  expect(world.err()).toContain('fix: See --help.');
});
