import type { CronFields } from './fields.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** From one 29 February to the next it is eight years at most. */
const LONGEST_DAYS = 9 * 366;

/** The first wall time from this one on that the fields name; null: there is none in years. */
export function matchFrom(fields: CronFields, wall: number): number | null {
  const from = Math.ceil(wall / MINUTE_MS) * MINUTE_MS;
  const firstDay = Math.floor(from / DAY_MS) * DAY_MS;
  for (let day = firstDay; day < firstDay + LONGEST_DAYS * DAY_MS; ) {
    const date = new Date(day);
    if (!fields.months.has(date.getUTCMonth() + 1)) {
      day = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
      continue;
    }
    const minute = isDay(fields, date) ? minuteOfDay(fields, Math.max(0, (from - day) / MINUTE_MS)) : null;
    if (minute !== null) return day + minute * MINUTE_MS;
    day += DAY_MS;
  }
  return null;
}

function isDay({ days, weekdays, eitherDay }: CronFields, date: Date): boolean {
  const byDate = days.has(date.getUTCDate());
  const byWeekday = weekdays.has(date.getUTCDay());
  return eitherDay ? byDate || byWeekday : byDate && byWeekday;
}

/** The first from this one on. */
function minuteOfDay({ hours, minutes }: CronFields, from: number): number | null {
  for (let hour = Math.floor(from / 60); hour < 24; hour++) {
    if (!hours.has(hour)) continue;
    for (let minute = Math.max(0, from - hour * 60); minute < 60; minute++) {
      if (minutes.has(minute)) return hour * 60 + minute;
    }
  }
  return null;
}
