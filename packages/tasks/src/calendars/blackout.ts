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
 * Of the windows that a time falls into the one that ends last; see `joined`.
 * @throws EntryMistake when an entry or the time zone is not understood.
 */
export function windowsOf(calendars: readonly Calendar[]): BlackoutAt {
  const windows = calendars.flatMap(sourcesOf);
  return (at) => longestAt(windows, at);
}

/**
 * Windows that overlap, or follow each other at once, are one. Of what begins later only the end counts: the first says why.
 * Of calendars that never open so many are looked through: not of what was joined before, or it would be that many times as many.
 * @param blackoutAt The window alone.
 */
export function joined(at: number, blackoutAt: BlackoutAt): Blackout | null {
  const first = blackoutAt(at);
  if (first === null) return null;
  let until = first.until;
  for (let count = 1; count < CALENDAR_LIMITS.joined; count++) {
    const next = blackoutAt(until);
    if (next === null) return { ...first, until };
    until = next.until;
  }
  return { ...first, until, goesOn: true };
}

interface Source extends Pick<Blackout, 'calendar' | 'why'> {
  readonly covering: Covering;
}

function sourcesOf({ name, timezone, entries }: Calendar): readonly Source[] {
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
