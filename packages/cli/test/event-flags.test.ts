import { expect, test } from 'vitest';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

const PUBLISH = ['event', 'publish', 'x'];
const WATCH = ['event', 'watch'];

/** Nothing listens there: who gets as far as connecting exits 5. */
const env = { MUSTER_URL: 'http://127.0.0.1:9', MUSTER_TOKEN: 't', MUSTER_USER: 'u' };

const now = () => Date.parse('2026-11-20T10:30:00Z');

test.each([
  [
    [...PUBLISH, '--at', 'tomorrow'],
    "--at must be +10m, or a time with its zone such as 2026-11-20T12:00:00Z, got 'tomorrow'",
  ],
  [[...PUBLISH, '--at', '2026-11-20T12:00'], '--at must be +10m, or a time with its zone'],
  [[...PUBLISH, '--at', '600'], '--at must be +10m'],
  [[...PUBLISH, '--at', '+soon'], "--at: 'soon' is not a duration; write it like"],
  [
    [...PUBLISH, '--at', '2020-01-01T00:00:00Z'],
    '--at 2020-01-01T00:00:00Z is in the past, by 2515d 10h: leave it out to publish now, or name a time to come',
  ],
  [[...PUBLISH, '--wait', '--timeout', 'soon'], "--timeout: 'soon' is not a duration; write it like"],
  [
    [...WATCH, '--from', 'yesterday'],
    "--from must be first, a position, -10s, -30m, -1h, -2d, or a time such as 2026-11-20T12:00:00Z, got 'yesterday'",
  ],
  [[...WATCH, '--durable', 'my mail'], "--durable must be 1 to 128 of A-Z a-z 0-9 _ . -, got 'my mail'"],
])('%j is refused in words of the flag, before anything is connected', async (argv, said) => {
  const world = testWorld({ env, now });
  expect(await run(argv, world)).toBe(2);
  expect(world.err()).toContain(`error: ${said}`);
});

test.each([
  [...PUBLISH, '--at', '+1h30m'],
  [...PUBLISH, '--at', '2026-11-20T12:00:00+01:00'],
  [...WATCH, '--from', '-1h'],
  [...WATCH, '--from', '4711'],
  [...WATCH, '--durable', 'mailer'],
])('%s %s %s %s %s is taken', async (...argv) => {
  expect(await run(argv, testWorld({ env, now }))).toBe(5);
});
