import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFields } from '../../src/schedules/cron/fields.js';
import { Cron, CronMistake, Zone } from '../../src/schedules/cron/index.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function zone(name: string): Zone {
  const found = Zone.find(name);
  if (found === undefined) throw new Error(`no zone ${name}`);
  return found;
}

/** The next times as clocks there show them, with the offset of each in hours. */
function next(expression: string, name: string, after: string, count: number): string[] {
  const there = zone(name);
  const cron = new Cron(expression, there);
  const times: string[] = [];
  for (let at = Date.parse(after); times.length < count; ) {
    at = cron.after(at);
    const wall = there.wallAt(at);
    times.push(`${new Date(wall).toISOString().slice(0, 16)} ${(wall - at) / 3_600_000}`);
  }
  return times;
}

describe('times of an expression', () => {
  test.each([
    ['*/15 * * * *', ['2026-01-01T00:15', '2026-01-01T00:30', '2026-01-01T00:45', '2026-01-01T01:00']],
    ['0 3 * * *', ['2026-01-01T03:00', '2026-01-02T03:00']],
    ['5,10 8-9 * * *', ['2026-01-01T08:05', '2026-01-01T08:10', '2026-01-01T09:05', '2026-01-01T09:10']],
    ['10-50/20 0 * * *', ['2026-01-01T00:10', '2026-01-01T00:30', '2026-01-01T00:50', '2026-01-02T00:10']],
    ['0 0 1 feb,APR *', ['2026-02-01T00:00', '2026-04-01T00:00', '2027-02-01T00:00']],
    ['0 12 * * mon-fri', ['2026-01-01T12:00', '2026-01-02T12:00', '2026-01-05T12:00']],
    ['0 12 * * fri-sun', ['2026-01-02T12:00', '2026-01-03T12:00', '2026-01-04T12:00', '2026-01-09T12:00']],
    ['0 12 * * 7', ['2026-01-04T12:00', '2026-01-11T12:00']],
    ['0 12 * * 0', ['2026-01-04T12:00', '2026-01-11T12:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    ['0 0 31 * *', ['2026-01-31T00:00', '2026-03-31T00:00', '2026-05-31T00:00']],
    // Either day, when both are restricted; both, when one is every so many.
    ['0 0 13 * fri', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-13T00:00', '2026-01-16T00:00']],
    ['0 0 */2 * fri', ['2026-01-09T00:00', '2026-01-23T00:00']],
    ['@yearly', ['2027-01-01T00:00']],
    ['@monthly', ['2026-02-01T00:00']],
    ['@weekly', ['2026-01-04T00:00']],
    ['@Daily', ['2026-01-02T00:00']],
    ['@hourly', ['2026-01-01T01:00', '2026-01-01T02:00']],
    ['  59   23 31 12 *  ', ['2026-12-31T23:59']],
  ])('%s', (expression, times) => {
    expect(next(expression, 'UTC', '2026-01-01T00:00Z', times.length)).toEqual(times.map((time) => `${time} 0`));
  });

  test('no 29 February in 2100', () => {
    expect(next('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00 0']);
  });

  test('come after a time, not at it, however far into the minute it is', () => {
    const cron = new Cron('30 * * * *', zone('UTC'));
    const at = Date.UTC(2026, 0, 1, 5, 30);
    expect([at - 1, at, at + 1].map((time) => cron.after(time) - at)).toEqual([0, 3_600_000, 3_600_000]);
  });
});

describe('when clocks are set', () => {
  test.each([
    // Forward at 2:00, to 3:00.
    [
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T00:00Z',
      ['2026-03-28T02:30 1', '2026-03-29T03:00 2', '2026-03-30T02:30 2'],
    ],
    [
      '0,30 2,3 * * *',
      'Europe/Berlin',
      '2026-03-29T00:00Z',
      ['2026-03-29T03:00 2', '2026-03-29T03:30 2', '2026-03-30T02:00 2'],
    ],
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', ['2026-03-08T03:00 -4', '2026-03-09T02:30 -4']],
    ['0 3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T03:00 2', '2026-03-30T03:00 2']],
    // Back at 3:00, to 2:00.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T02:30 2', '2026-10-26T02:30 1']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10Z', ['2026-10-26T02:30 1']],
    ['0 3 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T03:00 1', '2026-10-26T03:00 1']],
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T01:30 -4', '2026-11-02T01:30 -5']],
    // Every hour: by the time that passes.
    ['30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T01:30 1', '2026-03-29T03:30 2']],
    [
      '30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00Z',
      ['2026-10-25T02:30 2', '2026-10-25T02:30 1', '2026-10-25T03:30 1'],
    ],
    [
      '*/20 * 1 11 *',
      'America/New_York',
      '2026-11-01T05:30Z',
      ['2026-11-01T01:40 -4', '2026-11-01T01:00 -5', '2026-11-01T01:20 -5'],
    ],
    // At midnight, and by half an hour.
    ['15 0 * * *', 'America/Havana', '2026-03-07T12:00Z', ['2026-03-08T01:00 -4', '2026-03-09T00:15 -4']],
    ['15 * 1 11 *', 'America/Havana', '2026-01-01T12:00Z', ['2026-11-01T00:15 -4', '2026-11-01T00:15 -5']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', ['2026-10-04T02:30 11', '2026-10-05T02:15 11']],
    // A day that there was not.
    ['0 9 30 12 *', 'Pacific/Apia', '2011-12-01T00:00Z', ['2011-12-31T00:00 14', '2012-12-30T09:00 14']],
  ])('%s in %s after %s', (expression, name, after, times) => {
    expect(next(expression, name, after, times.length)).toEqual(times);
  });
});

/** What the class says of itself, minute by minute. */
function* slowly(expression: string, there: Zone, from: number, to: number): Iterable<number> {
  const { minutes, hours, days, months, weekdays, eitherDay } = parseFields(expression);
  const named = (wall: number): boolean => {
    const date = new Date(wall);
    const [byDate, byWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    const onDay = eitherDay ? byDate || byWeekday : byDate && byWeekday;
    return (
      onDay && months.has(date.getUTCMonth() + 1) && hours.has(date.getUTCHours()) && minutes.has(date.getUTCMinutes())
    );
  };
  // Far enough before to know what the clock has shown already.
  const begin = from - DAY_MS;
  let shown = there.wallAt(begin);
  for (let at = begin + MINUTE_MS; at <= to; at += MINUTE_MS) {
    const wall = there.wallAt(at);
    let due = false;
    if (hours.size === 24) due = named(wall);
    else for (let each = shown + MINUTE_MS; each <= wall; each += MINUTE_MS) due ||= named(each);
    shown = Math.max(shown, wall);
    if (due && at > from) yield at;
  }
}

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/Havana',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Pacific/Chatham',
  'UTC',
];
/** Days on which clocks are set in one of these. */
const DAYS = [
  '2026-03-29',
  '2026-10-25',
  '2026-03-08',
  '2026-11-01',
  '2026-10-04',
  '2026-04-05',
  '2026-02-15',
  '2026-03-22',
  '2026-06-10',
];

const list = (least: number, most: number) =>
  fc
    .uniqueArray(fc.integer({ min: least, max: most }), { minLength: 1, maxLength: 4 })
    .map((values) => values.join(','));
const field = (least: number, most: number) =>
  fc.oneof(
    fc.constant('*'),
    list(least, most),
    fc.integer({ min: 2, max: Math.min(9, most) }).map((step) => `*/${step}`),
  );
const expressions = fc
  .tuple(
    field(0, 59),
    fc.oneof(field(0, 23), field(0, 4)),
    fc.oneof(fc.constant('*'), field(1, 31)),
    fc.constant('*'),
    fc.oneof(fc.constant('*'), field(0, 7)),
  )
  .map((fields) => fields.join(' '));

test('the times are those that are found minute by minute', () => {
  fc.assert(
    fc.property(
      expressions,
      fc.constantFrom(...ZONES),
      fc.constantFrom(...DAYS),
      fc.integer({ min: -30, max: 30 }),
      (expression, name, day, hours) => {
        const there = zone(name);
        const cron = new Cron(expression, there);
        const from = Date.parse(`${day}T00:00Z`) + hours * 3_600_000;
        const to = from + DAY_MS;
        const expected = [...slowly(expression, there, from, to)];
        const found: number[] = [];
        for (let at = cron.after(from); at <= to; at = cron.after(at)) found.push(at);
        expect(found).toEqual(expected);
        expect(cron.last(from + 1, to)).toBe(expected.at(-1) ?? null);
      },
    ),
    { numRuns: 60 },
  );
});

test('a time always comes after the one before, in every zone', () => {
  fc.assert(
    fc.property(
      expressions,
      fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
      fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2037, 0) }),
      (expression, name, from) => {
        const cron = new Cron(expression, zone(name));
        let at = from;
        for (let count = 0; count < 5; count++) {
          const time = cron.after(at);
          expect(time).toBeGreaterThan(at);
          expect(cron.after(time - 1)).toBe(time);
          at = time;
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('what a clock on the wall shows is what Node.js says, in every zone, also where it was just set', () => {
  const shown = (name: string, at: number): number => {
    const text = new Intl.DateTimeFormat('sv-SE', { timeZone: name, dateStyle: 'short', timeStyle: 'medium' });
    return Date.parse(`${text.format(at).replace(' ', 'T')}Z`);
  };
  const hour = fc.integer({ min: Date.UTC(1980, 0) / 3_600_000, max: Date.UTC(2037, 0) / 3_600_000 });
  fc.assert(
    fc.property(fc.constantFrom(...Intl.supportedValuesOf('timeZone')), hour, (name, first) => {
      const there = zone(name);
      // Twice: the second time it is known.
      for (const minute of [0, 1, 14, 15, 31, 59, 0, 31])
        expect(there.wallAt(first * 3_600_000 + minute * 60_000)).toBe(
          shown(name, first * 3_600_000 + minute * 60_000),
        );
    }),
    { numRuns: 100 },
  );
  // Newfoundland set its clocks a minute after midnight.
  const set = Date.UTC(2009, 2, 8, 3, 31);
  for (const at of [set - 60_000, set - 1, set, set + 60_000])
    expect(zone('America/St_Johns').wallAt(at)).toBe(shown('America/St_Johns', at) + (((at % 1000) + 1000) % 1000));
});

describe('an expression that is a mistake', () => {
  test.each([
    ['', 'it has 0 fields'],
    ['* * * *', 'it has 4 fields'],
    ['0 * * * * *', 'there are five, and none for seconds'],
    ['60 * * * *', "minute: '60' is not from 0 to 59"],
    ['* 24 * * *', "hour: '24' is not from 0 to 23"],
    ['* * 0 * *', "day of the month: '0' is not from 1 to 31"],
    ['* * * foo *', "month: 'foo' is not from 1 to 12, or jan to dec"],
    ['* * * * 8', "day of the week: '8' is not from 0 to 7, or sun to sat"],
    ['* * * * mo', "day of the week: 'mo'"],
    ['* 22-2 * * *', 'the range 22-2 runs backwards; write 22-23,0-2'],
    ['5/10 * * * *', 'a step needs a range; write 5-59/10'],
    ['*/0 * * * *', 'the step of */0 must be from 1 to 59'],
    ['*/90 * * * *', 'the step of */90 must be from 1 to 59'],
    ['1, * * * *', "minute: '' is no value, range or step"],
    ['-5 * * * *', "minute: '-5' is no value"],
    ['L * * * *', "minute: 'l' is not from"],
    ['0 0 L * *', "day of the month: 'l'"],
    ['0 0 30 2 *', 'it never comes'],
    ['0 0 31 4,6,9,11 *', 'it never comes'],
    ['@reboot', 'there is no @reboot, but @yearly'],
    ['@toString', 'there is no @tostring'],
    [`${'1,'.repeat(300)}1 * * * *`, 'more than 512 characters'],
  ])('%s', (expression, message) => {
    expect(() => new Cron(expression, zone('UTC'))).toThrow(CronMistake);
    expect(() => new Cron(expression, zone('UTC'))).toThrow(message);
  });

  test.each(['', 'Mars/Olympus', 'Europe/Berlin\0', '../etc', '+02:00', 'a'.repeat(65)])(
    'there is no zone %j',
    (name) => {
      expect(Zone.find(name)).toBeUndefined();
    },
  );
});
