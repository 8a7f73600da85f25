import { parse } from 'chrono-node/en';

/** From a moment to another, milliseconds since the epoch; both are in it. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** Times as they can be stored and shown. */
const EARLIEST = Date.UTC(1, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const MOST_CHARACTERS = 100;
const MILLISECONDS = /^-?\d{5,15}$/;
const ISO = /^\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?)?)?$/i;

/**
 * A moment: milliseconds since the epoch, ISO 8601 (UTC unless it says otherwise), or English such as `1 week ago` and
 * `yesterday` (sheet §8.5); all of its day where only a day is named. null: it is none of these.
 */
export function readSpan(text: string, now: number): Span | null {
  const given = text.trim();
  if (given === '' || given.length > MOST_CHARACTERS) return null;
  const span = MILLISECONDS.test(given)
    ? moment(Number(given))
    : ISO.test(given)
      ? fromIso(given)
      : fromWords(given, now);
  return span === null || Number.isNaN(span.first) || span.first < EARLIEST || span.first > LATEST ? null : span;
}

function moment(at: number): Span {
  return { first: at, last: at };
}

/** The calendar day of a moment, in UTC. */
export function dayOf(at: number): Span {
  const first = startOfDay(at);
  return { first, last: first + DAY_MS - 1 };
}

/** The second of a moment. */
export function secondOf(at: number): Span {
  const first = Math.floor(at / 1000) * 1000;
  return { first, last: first + 999 };
}

const DAY_MS = 86_400_000;
const DAY_LENGTH = 'YYYY-MM-DD'.length;

function startOfDay(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

function fromIso(text: string): Span {
  const [date = '', time = ''] = text.toUpperCase().replace(' ', 'T').split('T');
  if (time === '') return date.length === DAY_LENGTH ? dayOf(Date.parse(date)) : moment(Date.parse(date));
  const [, clock = '', zone = ''] = /^(.*?)(Z|[+-].*)?$/.exec(time) ?? [];
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2');
  return moment(Date.parse(`${date}T${clock}${offset === '' ? 'Z' : offset}`));
}

function fromWords(text: string, now: number): Span | null {
  const [found, ...others] = parse(text, { instant: new Date(now), timezone: 0 });
  // Not a date somewhere in something else.
  if (found === undefined || others.length > 0 || found.text.length !== text.length || found.end) return null;
  const at = found.start.date().getTime();
  const named = found.start.isCertain('day') || found.start.isCertain('weekday');
  return named && !found.start.isCertain('hour') ? dayOf(at) : moment(at);
}
