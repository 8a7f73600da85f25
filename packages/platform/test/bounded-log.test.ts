import { ManualClock } from '@muster/base';
import { expect, test } from 'vitest';
import { BoundedLog } from '../src/upkeep/bounded-log.js';

function logged() {
  const lines: object[] = [];
  const clock = new ManualClock();
  const write = (details: object, message: string): void => void lines.push({ ...details, message });
  const log = new BoundedLog({ debug: write, info: write, warn: write, error: write }, clock);
  return { clock, log, lines };
}

test('of one kind there is a line a second, and the next one says how many were left out', () => {
  const { clock, log, lines } = logged();
  for (const node of ['a', 'b', 'c']) log.warn('late', { node }, 'is late');
  log.info('early', { node: 'd' }, 'is early');
  clock.advance(1000);
  log.warn('late', { node: 'e' }, 'is late');
  expect(lines).toEqual([
    { node: 'a', message: 'is late' },
    { node: 'd', message: 'is early' },
    { node: 'e', suppressed: 2, message: 'is late' },
  ]);
});

test('a clock that is set back keeps no line from being logged', () => {
  const { clock, log, lines } = logged();
  log.warn('late', {}, 'is late');
  clock.set(-3_600_000);
  clock.advance(1000);
  log.warn('late', {}, 'is late');
  expect(lines).toHaveLength(2);
});
