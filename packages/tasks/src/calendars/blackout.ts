import { Zone } from '../schedules/cron/index.js';
import { type Covering, coveringOf, type Entry, EntryMistake, entryText } from './entry.js';
import { CALENDAR_LIMITS } from './limits.js';
import type { Blackout, BlackoutAt } from './types.js';

export { type Blackout, type BlackoutAt, blackoutText } from './types.js';

/** Named times at which nothing is to be started. */
export interface Calendar {
  readonly name: string;
  readonly description: string;
  readonly timezone: string;
  readonly entries: readonly Entry[];
}

/**
 * Windows that overlap, or follow each other at once, are one.
 * @throws EntryMistake when an entry or the time zone is not understood.
 */
export function blackouts(calendars: readonly Calendar[]): BlackoutAt {
  const windows = calendars.flatMap(windowsOf);
  return (at) => joined(at, (from) => longestAt(windows, from));
}

/** Where one ends another may go on. Of what begins later only the end counts: the first says why. */
export function joined(at: number, blackoutAt: BlackoutAt): Blackout | null {
  const first = blackoutAt(at);
  if (first === null) return null;
  let until = first.until;
  for (let count = 1; count < CALENDAR_LIMITS.joined; count++) {
    const next = blackoutAt(until);
    if (next === null) break;
    until = next.until;
  }
  return { ...first, until };
}

interface Source extends Pick<Blackout, 'calendar' | 'why'> {
  readonly covering: Covering;
}

function windowsOf({ name, timezone, entries }: Calendar): readonly Source[] {
  const zone = Zone.find(timezone);
  if (zone === undefined) throw new EntryMistake(`there is no time zone '${timezone}'`);
  return entries.map((entry) => ({
    covering: coveringOf(entry, zone),
    calendar: name,
    why: entry.why ?? entryText(entry),
  }));
}

function longestAt(sources: readonly Source[], at: number): Blackout | null {
  let found: Blackout | null = null;
  for (const { covering, calendar, why } of sources) {
    const window = covering(at);
    if (window !== null && (found === null || window.until > found.until))
      found = { until: window.until, calendar, why };
  }
  return found;
}
