import { MusterError } from '../errors.js';
import { Zone } from '../schedules/cron/index.js';
import type { AskedCalendar, Calendars } from './calendars.js';
import { coveringOf, type Entry, EntryMistake } from './entry.js';
import { CALENDAR_LIMITS } from './limits.js';
import type { CalendarChanges, NewCalendar } from './schemas.js';

/** @throws MusterError `invalid_field` */
export function readNewCalendar({ description = '', timezone = 'UTC', entries }: NewCalendar): AskedCalendar {
  return checked({ description, timezone, entries: entries as readonly Entry[] });
}

/** @throws MusterError `invalid_field` */
export function readCalendarChanges(changes: CalendarChanges, before: AskedCalendar): Partial<AskedCalendar> {
  checked({ ...before, ...(changes as Partial<AskedCalendar>) });
  return changes as Partial<AskedCalendar>;
}

function checked(asked: AskedCalendar): AskedCalendar {
  const zone = Zone.find(asked.timezone);
  if (zone === undefined)
    throw invalid('timezone', 'there is none of this name; write one such as Europe/Berlin or UTC');
  for (const [at, entry] of asked.entries.entries()) {
    try {
      coveringOf(entry, zone);
    } catch (error) {
      if (error instanceof EntryMistake) throw invalid(`entries[${at}]`, error.message);
      throw error;
    }
  }
  return asked;
}

/** Names of calendars that something is to heed. @throws MusterError `invalid_field`, `not_found` */
export function readHeeded(
  calendars: Pick<Calendars, 'existing'>,
  orgId: string,
  names: readonly string[],
): readonly string[] {
  if (names.length > CALENDAR_LIMITS.heeded) throw invalid('not_during', `at most ${CALENDAR_LIMITS.heeded} calendars`);
  if (new Set(names).size < names.length) throw invalid('not_during', 'names a calendar twice');
  for (const name of names) calendars.existing(orgId, name);
  return names;
}

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}
