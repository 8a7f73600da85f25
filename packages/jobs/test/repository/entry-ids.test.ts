import { ManualClock } from '@muster/base';
import { expect, test } from 'vitest';
import { entryIds, entryTime } from '../../src/repository/entry-ids.js';

const ids = (clock: ManualClock, own: number) => entryIds(clock, (size) => new Uint8Array(size).fill(own));

test('later entries have greater ids, also many of one moment and after the clock was set back', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const next = ids(clock, 1);
  const made: string[] = [];
  for (let round = 0; round < 70_000; round++) made.push(next());
  clock.advance(1);
  made.push(next());
  const back = new ManualClock(0);
  const reset = entryIds({ now: () => (made.length % 2 === 0 ? clock.now() : back.now()) }, () => new Uint8Array(4));
  const later = Array.from({ length: 10 }, () => {
    const id = reset();
    made.push(id);
    return id;
  });
  expect([...later].sort()).toEqual(later);
  expect(new Set(made).size).toBe(made.length);
  const first = made.slice(0, 70_001);
  expect([...first].sort()).toEqual(first);
  expect(made.every((id) => id > '0')).toBe(true);
});

test('two processes make no id twice', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const one = ids(clock, 1);
  const two = ids(clock, 2);
  expect(one()).not.toBe(two());
});

test('what follows the entry of another process is greater, also in the same millisecond or by a clock that is behind', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const [one, two] = [ids(clock, 2), ids(new ManualClock(1_600_000_000_000), 1)];
  const made = [one(1_699_999_999_999)];
  for (let turn = 0; turn < 6; turn++) made.push((turn % 2 === 0 ? two : one)(entryTime(made.at(-1) ?? '')));
  expect([...made].sort()).toEqual(made);
});
