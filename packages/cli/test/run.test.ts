import { expect, test } from 'vitest';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

test.each([
  ['an unknown command', ['pish']],
  ['an unknown flag', ['push', 'list', '--nonsense']],
  ['a missing argument', ['push', 'status']],
  ['an argument too many', ['node', 'list', 'x']],
  ['a value that is none', ['token', 'create', '--ttl', 'soon']],
  ['a flag without its value', ['node', 'search', 'x', '--limit']],
  ['no settings', ['node', 'list']],
  ['words after -- where none are taken', ['node', 'list', '--', 'x']],
])('%s exits 2 and says what was wrong and what to do', async (_, argv) => {
  const world = testWorld();
  expect(await run(argv, world)).toBe(2);
  expect(world.err()).toMatch(/^error: .+\n(.+\n)*fix: .+\n$/);
  expect(world.out()).toBe('');
});

test('a group without a command shows its help and exits 2', async () => {
  const world = testWorld();
  expect(await run(['push'], world)).toBe(2);
  expect(world.err()).toContain('Usage: muster push');
});

test('a server that is not there exits 5', async () => {
  const world = testWorld({ env: { MUSTER_URL: 'http://127.0.0.1:9', MUSTER_TOKEN: 'x' } });
  expect(await run(['push', 'abort', 'J'], world)).toBe(5);
  expect(world.err()).toMatch(/^error: cannot reach http:\/\/127\.0\.0\.1:9: .+\nfix: /);
});

test('--version prints the version and exits 0', async () => {
  const world = testWorld();
  expect(await run(['--version'], world)).toBe(0);
  expect(world.out()).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('an enrolment token among the arguments is refused, and the ways are told that do not show it', async () => {
  const world = testWorld();
  expect(await run(['agent', '--server', 'http://127.0.0.1:9', '--enroll', 'SECRET'], world)).toBe(2);
  expect(world.err()).toContain('--enroll-file FILE');
  expect(world.err()).not.toContain('SECRET');
});

test.each([
  ['text', '--fetch', ['push', 'start', 'role:web', '--fetch', '/a', '--fetch', '/b']],
  ['the same', '--command', ['push', 'list', '--command', 'SECRET', '--command=SECRET']],
  ['a number', '--limit', ['node', 'search', 'x', '--limit', '1', '--limit', '2']],
  ['one of several words', '--output', ['push', 'start', 'x', '--output', 'live', '--output', 'none', '--', 'true']],
  ['a setting', '--config', ['--config', 'a', '--config', 'b', 'node', 'list']],
  ['a setting of the server', '--data-dir', ['server', '--data-dir', 'a', '--data-dir', 'b']],
])('a flag that is given twice and takes one value is refused: %s', async (_, flag, argv) => {
  const world = testWorld();
  expect(await run(argv, world)).toBe(2);
  expect(world.err()).toMatch(`error: ${flag} is given twice: it takes one value\n`);
});

test('flags that gather are given several times, and a setting before the first word and behind it', async () => {
  const several = ['--upload', 'a:/a', '--upload', 'b:/b', '--env', 'A=1', '--env', 'B=2', '--first', '1'];
  const argv = ['--config', 'a', 'push', 'start', '--node', 'a', '--node', 'b', ...several];
  const world = testWorld();
  await run([...argv, '--then', '1', '--then', '2', '--config', '/no/such', '--', 'true'], world);
  expect(world.err()).toContain('/no/such');
});
