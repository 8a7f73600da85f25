import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BlackoutAt, type Calendar, joined, windowsOf } from '../../src/calendars/blackout.js';
import { coveringOf, type Entry, EntryMistake } from '../../src/calendars/entry.js';
import { CALENDAR_LIMITS } from '../../src/calendars/limits.js';
import { Cron, Zone } from '../../src/schedules/cron/index.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const zoneOf = (name: string) => Zone.find(name) as Zone;
const at = (text: string) => Date.parse(text);

function blackouts(calendars: readonly Calendar[]): BlackoutAt {
  const windowAt = windowsOf(calendars);
  return (moment) => joined(moment, windowAt);
}

/** The window of an entry at this time, as text in UTC. */
function window(entry: Entry, time: string, zone = 'UTC'): readonly [string, string] | null {
  const found = coveringOf(entry, zoneOf(zone))(at(time));
  const text = (ms: number) => new Date(ms).toISOString().replace(':00.000Z', 'Z');
  return found && [text(found.from), text(found.until)];
}

describe('an entry', () => {
  // 2026-11-27 is a Friday.
  test.each<[Entry, string, readonly [string, string] | null]>([
    [{ weekly: 'fri 18:00-mon 06:00' }, '2026-11-27T17:59:59.999Z', null],
    [{ weekly: 'fri 18:00-mon 06:00' }, '2026-11-27T18:00:00Z', ['2026-11-27T18:00Z', '2026-11-30T06:00Z']],
    [{ weekly: 'fri 18:00 - mon 06:00' }, '2026-11-30T05:59:59.999Z', ['2026-11-27T18:00Z', '2026-11-30T06:00Z']],
    [{ weekly: 'fri 18:00-mon 06:00' }, '2026-11-30T06:00:00Z', null],
    [{ weekly: 'mon-fri 22:00-06:00' }, '2026-11-28T05:00:00Z', ['2026-11-27T22:00Z', '2026-11-28T06:00Z']],
    [{ weekly: 'mon-fri 22:00-06:00' }, '2026-11-28T23:00:00Z', null],
    [{ weekly: 'sat,sun' }, '2026-11-28T12:00:00Z', ['2026-11-28T00:00Z', '2026-11-29T00:00Z']],
    [{ weekly: 'sat-sun' }, '2026-11-30T00:00:00Z', null],
    [{ weekly: 'fri-mon 12:00-13:00' }, '2026-11-29T12:30:00Z', ['2026-11-29T12:00Z', '2026-11-29T13:00Z']],
    [{ weekly: 'daily 02:00-04:00' }, '2026-11-29T03:00:00Z', ['2026-11-29T02:00Z', '2026-11-29T04:00Z']],
    [{ weekly: 'fri 18:00-fri 06:00' }, '2026-12-03T12:00:00Z', ['2026-11-27T18:00Z', '2026-12-04T06:00Z']],
    [{ weekly: 'sun 20:00-24:00' }, '2026-11-29T23:59:00Z', ['2026-11-29T20:00Z', '2026-11-30T00:00Z']],
    [{ dates: '2026-12-24' }, '2026-12-24T23:59:00Z', ['2026-12-24T00:00Z', '2026-12-25T00:00Z']],
    [{ dates: '2026-12-24..2027-01-02' }, '2027-01-02T23:00:00Z', ['2026-12-24T00:00Z', '2027-01-03T00:00Z']],
    [{ dates: '2026-12-24T18:00..2026-12-25T06:00' }, '2026-12-25T06:00:00Z', null],
    [{ dates: '2026-12-24T18:00..2026-12-25' }, '2026-12-25T20:00:00Z', ['2026-12-24T18:00Z', '2026-12-26T00:00Z']],
    [{ cron: '0 2 1 * *', minutes: 240 }, '2026-12-01T05:59:00Z', ['2026-12-01T02:00Z', '2026-12-01T06:00Z']],
    [{ cron: '0 2 1 * *', minutes: 240 }, '2026-12-01T06:00:00Z', null],
    [{ cron: '0 * * * *', minutes: 90 }, '2026-12-01T06:10:00Z', ['2026-12-01T06:00Z', '2026-12-01T07:30Z']],
  ])('%j at %s: %j', (entry, time, expected) => {
    expect(window(entry, time)).toEqual(expected);
  });

  test.each<[Entry, string, readonly [string, string] | null]>([
    [{ weekly: 'mon 08:00-09:00' }, '2026-11-30T07:30:00Z', ['2026-11-30T07:00Z', '2026-11-30T08:00Z']],
    [{ dates: '2026-07-01' }, '2026-06-30T22:00:00Z', ['2026-06-30T22:00Z', '2026-07-01T22:00Z']],
    // The clock goes from 2:00 to 3:00: a window of that hour is no time at all.
    [{ weekly: 'daily 02:10-02:40' }, '2026-03-29T01:00:00Z', null],
    [{ weekly: 'daily 01:00-04:00' }, '2026-03-29T00:30:00Z', ['2026-03-29T00:00Z', '2026-03-29T02:00Z']],
    // And back from 3:00 to 2:00.
    [{ weekly: 'daily 01:00-04:00' }, '2026-10-25T01:30:00Z', ['2026-10-24T23:00Z', '2026-10-25T03:00Z']],
  ])('in Berlin, %j at %s: %j', (entry, time, expected) => {
    expect(window(entry, time, 'Europe/Berlin')).toEqual(expected);
  });

  test.each<[Entry]>([
    [{ weekly: 'friday 18:00-06:00' }],
    [{ weekly: 'fri 18:00' }],
    [{ weekly: 'fri 18:00-fri 18:00' }],
    [{ weekly: 'mon,tue 18:00-wed 06:00' }],
    [{ weekly: 'fri 25:00-26:00' }],
    [{ weekly: 'fri 12:60-13:00' }],
    [{ weekly: 'xyz' }],
    [{ dates: '2026-02-30' }],
    [{ dates: '2026-12-24..2026-12-23' }],
    [{ dates: '2026-12-24T18:00' }],
    [{ dates: 'christmas' }],
    [{ dates: '2026-12-24..2026-12-25..2026-12-26' }],
    [{ cron: '0 2 1 *', minutes: 1 }],
    [{ cron: '0 2 30 2 *', minutes: 1 }],
    [{ cron: '@daily', minutes: 0 }],
    [{ cron: '@daily', minutes: CALENDAR_LIMITS.windowMs / MINUTE + 1 }],
  ])('%j is not understood', (entry) => {
    expect(() => coveringOf(entry, zoneOf('UTC'))).toThrow(EntryMistake);
  });
});

const calendar = (name: string, ...entries: Entry[]) => ({ name, description: '', timezone: 'UTC', entries });

describe('blackouts of calendars', () => {
  test('say which calendar, why, and until when', () => {
    const freeze = calendar('freeze', { dates: '2026-12-24..2026-12-26', why: 'Christmas' });
    expect(blackouts([freeze])(at('2026-12-25T12:00Z'))).toEqual({
      ...{ calendar: 'freeze', why: 'Christmas', until: at('2026-12-27') },
    });
    expect(blackouts([freeze])(at('2026-12-27'))).toBeNull();
    expect(blackouts([])(0)).toBeNull();
  });

  test('that follow each other are one, and the first says why', () => {
    const both = blackouts([
      calendar('night', { weekly: 'daily 22:00-06:00' }),
      calendar('weekend', { weekly: 'sat-sun' }, { weekly: 'mon 00:00-07:30' }),
    ]);
    expect(both(at('2026-11-27T23:00Z'))).toEqual({
      ...{ calendar: 'night', why: 'daily 22:00-06:00', until: at('2026-11-30T07:30Z') },
    });
  });

  test('that never end are looked through so far', () => {
    const always = blackouts([calendar('always', { weekly: 'daily' })]);
    expect(always(0)).toMatchObject({ until: CALENDAR_LIMITS.joined * DAY, goesOn: true });
  });
});

describe('for whatever entries', () => {
  const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
  const pad = (n: number) => String(n).padStart(2, '0');
  const time = fc.tuple(fc.nat(23), fc.nat(59)).map(([h, m]) => `${pad(h)}:${pad(m)}`);
  const day = fc.constantFrom(...DAYS);
  const START = Date.UTC(2026, 0, 1);
  const moment = fc.integer({ min: 0, max: 365 * 24 * 60 }).map((minutes) => START + minutes * MINUTE);
  const date = moment.map((ms) => new Date(ms).toISOString().slice(0, 10));
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    fc.tuple(day, time, time).map(([d, a, b]) => ({ weekly: `${d} ${a}-${b}` })),
    fc
      .tuple(day, time, day, time)
      .filter(([d, a, e, b]) => d !== e || a !== b)
      .map(([d, a, e, b]) => ({ weekly: `${d} ${a}-${e} ${b}` })),
    fc.tuple(date, date).map((both) => ({ dates: both.sort().join('..') })),
    fc.record({
      cron: fc.tuple(fc.nat(59), fc.nat(23), day).map(([m, h, d]) => `${m} ${h} * * ${d}`),
      minutes: fc.integer({ min: 1, max: 3000 }),
    }),
  );
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe');

  test('a window holds the time that it was asked for, and is there from its first moment to its last', () => {
    fc.assert(
      fc.property(entry, zone, moment, (one, name, now) => {
        const covering = coveringOf(one, zoneOf(name));
        const found = covering(now);
        if (found === null) return;
        expect(found.from).toBeLessThanOrEqual(now);
        expect(found.until).toBeGreaterThan(now);
        for (const inside of [found.from, found.until - 1]) {
          expect(covering(inside)?.until).toBeGreaterThanOrEqual(found.until);
        }
      }),
    );
  });

  test('a blackout lasts all of the time until its end, and then something may be started', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 4 }), zone, moment, share, (entries, timezone, now, part) => {
        const blackoutAt = blackouts([{ ...calendar('c', ...entries), timezone }]);
        const found = blackoutAt(now);
        // Some of these follow each other for ever.
        if (found === null || found.until - now > 300 * DAY) return;
        const within = Math.floor(now + part * (found.until - 1 - now));
        expect(blackoutAt(within)?.until).toBeGreaterThanOrEqual(found.until);
        if (found.until - now < 30 * DAY) expect(blackoutAt(found.until)).toBeNull();
      }),
    );
  });

  test('a week of one kind is the times that clocks on the wall show', () => {
    fc.assert(
      fc.property(day, time, time, zone, moment, (d, from, to, name, now) => {
        fc.pre(from < to);
        const ahead = (ms: number) => zoneOf(name).wallAt(ms) - ms;
        // Not on the days on which clocks are set.
        fc.pre(ahead(now - DAY) === ahead(now + DAY));
        const wall = new Date(zoneOf(name).wallAt(now));
        const shown = wall.toISOString().slice(11, 16);
        const inside = DAYS[wall.getUTCDay()] === d && from <= shown && shown < to;
        expect(coveringOf({ weekly: `${d} ${from}-${to}` }, zoneOf(name))(now) !== null).toBe(inside);
      }),
    );
  });

  test('one of cron begins when cron says', () => {
    const length = fc.integer({ min: 1, max: 1000 });
    fc.assert(
      fc.property(fc.nat(59), fc.nat(23), length, zone, moment, (m, h, minutes, name, now) => {
        const expression = `${m} ${h} * * *`;
        const begins = new Cron(expression, zoneOf(name)).after(now);
        const covering = coveringOf({ cron: expression, minutes }, zoneOf(name));
        expect(covering(begins)).toEqual({ from: begins, until: begins + minutes * MINUTE });
      }),
    );
  });
});
