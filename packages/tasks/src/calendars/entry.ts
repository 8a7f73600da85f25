import { Cron, CronMistake, type Zone } from '../schedules/cron/index.js';
import { CALENDAR_LIMITS } from './limits.js';

/** When something is not to be started, as people write it; in the time zone of its calendar. */
export type Entry = (
  | { /** `fri 18:00-mon 06:00`, `mon-fri 22:00-06:00`, `sun` */ readonly weekly: string }
  | { /** `2026-12-24`, `2026-12-24..2027-01-02`, `2026-12-24T18:00..2026-12-25T06:00` */ readonly dates: string }
  | {
      /** When it begins: `0 2 1 * *`. */
      readonly cron: string;
      readonly minutes: number;
    }
) & {
  /** For whoever asks why nothing is started. */
  readonly why?: string;
};

/** From `from` on, before `until`. Milliseconds since the epoch. */
export interface Window {
  readonly from: number;
  readonly until: number;
}

/** The window of an entry that a time falls into, the longest if there are several; null: none. */
export type Covering = (at: number) => Window | null;

/** An entry cannot be understood; the message says why. */
export class EntryMistake extends Error {}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** @throws EntryMistake */
export function coveringOf(entry: Entry, zone: Zone): Covering {
  if ('weekly' in entry) return weekly(entry.weekly, zone);
  if ('dates' in entry) return dates(entry.dates, zone);
  return recurring(entry.cron, entry.minutes * MINUTE_MS, zone);
}

// --- weekly

const WEEKLY =
  /^(?<days>\*|daily|[a-z]{3}(?:[-,][a-z]{3})*)(?: +(?<from>\d\d:\d\d) *- *(?:(?<day>[a-z]{3}) +)?(?<to>\d\d:\d\d))?$/;

function weekly(text: string, zone: Zone): Covering {
  const given = WEEKLY.exec(text.trim().toLowerCase())?.groups;
  if (given === undefined)
    throw new EntryMistake(`'${text}' is not like 'fri 18:00-mon 06:00', 'mon-fri 22:00-06:00' or 'sun'`);
  const days = daysOf(given.days ?? '');
  const fromMs = given.from === undefined ? 0 : timeOfDay(given.from);
  const toMs = given.to === undefined ? DAY_MS : timeOfDay(given.to);
  const lengthMs = given.day === undefined ? lengthOfDay(fromMs, toMs) : lengthTo(days, given.day, fromMs, toMs);
  return byDays(zone, lengthMs, (day) => (days.has(new Date(day).getUTCDay()) ? day + fromMs : null));
}

/** Until this time of the day next comes. */
function lengthOfDay(fromMs: number, toMs: number): number {
  return toMs > fromMs ? toMs - fromMs : toMs - fromMs + DAY_MS;
}

function lengthTo(days: ReadonlySet<number>, name: string, fromMs: number, toMs: number): number {
  const [first] = days;
  if (first === undefined || days.size > 1) throw new EntryMistake('with a day at its end it begins on one day');
  const lengthMs = ((dayOf(name) - first + 7) % 7) * DAY_MS + toMs - fromMs;
  if (lengthMs === 0) throw new EntryMistake('it ends when it begins');
  return lengthMs > 0 ? lengthMs : lengthMs + 7 * DAY_MS;
}

/** `mon`, `mon-fri`, `sat,sun`, `fri-mon`; `daily` */
function daysOf(text: string): ReadonlySet<number> {
  if (text === '*' || text === 'daily') return new Set(DAYS.keys());
  const days = new Set<number>();
  for (const range of text.split(',')) {
    const [first = '', last = first, more] = range.split('-');
    if (more !== undefined) throw new EntryMistake(`'${range}' is not a range of days`);
    const end = dayOf(last);
    for (let day = dayOf(first); ; day = (day + 1) % 7) {
      days.add(day);
      if (day === end) break;
    }
  }
  return days;
}

function dayOf(name: string): number {
  const day = DAYS.indexOf(name);
  if (day < 0) throw new EntryMistake(`'${name}' is none of ${DAYS.join(', ')}`);
  return day;
}

/** 24:00 is the end of the day. */
function timeOfDay(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  const ms = (hours * 60 + minutes) * MINUTE_MS;
  if (minutes > 59 || ms > DAY_MS) throw new EntryMistake(`'${text}' is no time of the day`);
  return ms;
}

/** @param beginning Of the window that begins on a day, as the clock on the wall shows it; null: none does. */
function byDays(zone: Zone, lengthMs: number, beginning: (day: number) => number | null): Covering {
  return (at) => {
    let found: Window | null = null;
    const today = Math.floor(zone.wallAt(at) / DAY_MS) * DAY_MS;
    // A day more to each side: clocks are set.
    for (let day = today - Math.ceil(lengthMs / DAY_MS) * DAY_MS - DAY_MS; day <= today + DAY_MS; day += DAY_MS) {
      const wall = beginning(day);
      if (wall === null) continue;
      const window = { from: zone.firstAt(wall), until: zone.firstAt(wall + lengthMs) };
      if (covers(window, at) && (found === null || window.until > found.until)) found = window;
    }
    return found;
  };
}

function covers({ from, until }: Window, at: number): boolean {
  return from <= at && at < until;
}

// --- dates

const DATE = /^(?<day>\d{4}-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d))?$/;

function dates(text: string, zone: Zone): Covering {
  const [first = '', last = first, more] = text.trim().split('..');
  if (more !== undefined) throw new EntryMistake(`'${text}' is not like 2026-12-24..2027-01-02`);
  const begin = wallOf(first);
  const end = wallOf(last);
  // A day is meant to its end.
  const window = { from: zone.firstAt(begin.wall), until: zone.firstAt(end.isDay ? end.wall + DAY_MS : end.wall) };
  if (window.until <= window.from) throw new EntryMistake(`'${text}' ends before it begins`);
  return (at) => (covers(window, at) ? window : null);
}

function wallOf(text: string): { readonly wall: number; readonly isDay: boolean } {
  const { day, time } = DATE.exec(text.trim())?.groups ?? {};
  const midnight = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  // Date.parse takes the 31st of a shorter month for the day after it.
  if (day === undefined || Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) {
    throw new EntryMistake(`'${text}' is not a date such as 2026-12-24 or 2026-12-24T18:00`);
  }
  return { wall: midnight + (time === undefined ? 0 : timeOfDay(time)), isDay: time === undefined };
}

// --- cron

function recurring(expression: string, lengthMs: number, zone: Zone): Covering {
  if (!(lengthMs > 0 && lengthMs <= CALENDAR_LIMITS.windowMs)) {
    throw new EntryMistake(`it lasts from a minute to ${CALENDAR_LIMITS.windowMs / DAY_MS} days`);
  }
  const cron = cronOf(expression, zone);
  return (at) => {
    const from = cron.last(at - lengthMs + 1, at);
    return from === null ? null : { from, until: from + lengthMs };
  };
}

function cronOf(expression: string, zone: Zone): Cron {
  try {
    return new Cron(expression, zone);
  } catch (error) {
    if (error instanceof CronMistake) throw new EntryMistake(error.message);
    throw error;
  }
}

/** As it is shown. */
export function entryText(entry: Entry): string {
  if ('weekly' in entry) return entry.weekly;
  if ('dates' in entry) return entry.dates;
  return `${entry.cron} for ${entry.minutes} min`;
}
