import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLUSTER_LIMITS } from '../src/cluster/limits.js';
import { asksOthers, type Leadership, type LeadershipEvent, stepLeadership } from '../src/cluster/machine.js';

const FOLLOWER: Leadership = { role: 'follower' };
const leader = (epoch = 3, actUntil = 1000): Leadership => ({ role: 'leader', epoch, actUntil, isolatedSince: null });
const after = (state: Leadership, ...events: readonly LeadershipEvent[]): Leadership =>
  events.reduce(stepLeadership, state);

describe('a follower', () => {
  test('leads once it has acquired the lease', () => {
    expect(after(FOLLOWER, { type: 'acquired', epoch: 3, actUntil: 1000 })).toEqual(leader());
  });

  test.each<LeadershipEvent>([
    { type: 'held' },
    { type: 'lost' },
    { type: 'no answer', now: 5 },
    { type: 'others said', epoch: 9, asked: 2, now: 5 },
    { type: 'resigned' },
  ])('goes on following: %j', (event) => {
    expect(after(FOLLOWER, event)).toEqual(FOLLOWER);
  });
});

describe('a leader', () => {
  test('leads for longer with each renewal', () => {
    expect(after(leader(), { type: 'renewed', epoch: 3, actUntil: 2000 })).toEqual(leader(3, 2000));
  });

  test.each<LeadershipEvent>([
    { type: 'lost' },
    { type: 'held' },
    { type: 'others said', epoch: 4, asked: 1, now: 5000 },
  ])('is deposed: %j', (event) => {
    expect(after(leader(), event)).toMatchObject({ role: 'deposed' });
  });

  test('follows once it has given the lead back', () => {
    expect(after(leader(), { type: 'resigned' })).toEqual(FOLLOWER);
  });

  test('goes on while the database is away, however long, as long as others say that nobody has taken over', () => {
    const hour = Array.from({ length: 60 }, (_, minute): LeadershipEvent[] => [
      { type: 'no answer', now: minute * 60_000 },
      { type: 'others said', epoch: 3, asked: 2, now: minute * 60_000 },
    ]);
    expect(after(leader(), ...hour.flat())).toMatchObject({ role: 'leader' });
  });

  test('goes on while the database is away, however long, when there is no other server', () => {
    const events = [0, 60_000, 3_600_000].map(
      (now): LeadershipEvent => ({ type: 'others said', epoch: null, asked: 0, now }),
    );
    expect(after(leader(), ...events)).toMatchObject({ role: 'leader' });
  });

  test('that reaches neither the database nor another server ends after a while, and not before', () => {
    const nobody = (now: number): LeadershipEvent => ({ type: 'others said', epoch: null, asked: 2, now });
    const { isolatedMs } = CLUSTER_LIMITS;
    expect(after(leader(), nobody(2000), nobody(2000 + isolatedMs - 1))).toMatchObject({ role: 'leader' });
    expect(after(leader(), nobody(2000), nobody(2000 + isolatedMs))).toMatchObject({ role: 'deposed' });
    const answered: LeadershipEvent = { type: 'others said', epoch: 3, asked: 2, now: 3000 };
    expect(after(leader(), nobody(2000), answered, nobody(2000 + isolatedMs))).toMatchObject({ role: 'leader' });
  });

  test('asks the others when its time is over, and not before', () => {
    expect(asksOthers(leader(3, 1000), 999)).toBe(false);
    expect(asksOthers(leader(3, 1000), 1000)).toBe(true);
    expect(asksOthers(FOLLOWER, 1000)).toBe(false);
  });
});

test('whoever is deposed stays so, whatever comes', () => {
  const event: fc.Arbitrary<LeadershipEvent> = fc.oneof(
    fc.record({ type: fc.constantFrom('acquired' as const, 'renewed' as const), epoch: fc.nat(), actUntil: fc.nat() }),
    fc.record({ type: fc.constantFrom('held' as const, 'lost' as const, 'resigned' as const) }),
    fc.record({ type: fc.constant('no answer' as const), now: fc.nat() }),
    fc.record({
      type: fc.constant('others said' as const),
      epoch: fc.option(fc.nat()),
      asked: fc.nat(3),
      now: fc.nat(),
    }),
  );
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const deposed: Leadership = { role: 'deposed', why: 'because' };
      expect(after(deposed, ...events)).toBe(deposed);
    }),
  );
});
