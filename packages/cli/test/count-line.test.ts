import { expect, test } from 'vitest';
import { CountLine } from '../src/count-line.js';
import { testWorld } from './support/world.js';

test('a count tells its rate and for how long it goes on, in the place of what it told before', () => {
  let now = 0;
  const world = testWorld({ terminal: true, now: () => now });
  const line = new CountLine(world, 'tasks');
  now = 2000;
  line.update(5000);
  line.done();
  expect(world.err()).toBe('\r\u001b[2K5,000 tasks  2,500/s  2s\r\u001b[2K');
});

test('what was done before is counted, but not as quick', () => {
  let now = 0;
  const world = testWorld({ terminal: true, now: () => now });
  const line = new CountLine(world, 'bytes of app.tgz', { from: 98_000_000, total: 900_000_000 });
  now = 1000;
  line.update(108_000_000);
  expect(world.err()).toContain('108,000,000 of 900,000,000 bytes of app.tgz  10,000,000/s  1s');
});
