/** Lengths of time as people write them: in settings, in flags of the command line. */

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const LARGEST_FIRST = ['d', 'h', 'm', 's'] as const;

const NUMBER = /^\d+(\.\d+)?$/;
const WITH_UNITS = /^(\d+(\.\d+)?(ms|[smhdw]))+$/;
const PARTS = /(?<amount>\d+(?:\.\d+)?)(?<unit>ms|[smhdw])/g;

/** Reads `90`, `500ms`, `90s`, `10m`, `1h30m`, `7d` or `2w` as seconds; null when it is none of these. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (NUMBER.test(trimmed)) return Number(trimmed);
  if (!WITH_UNITS.test(trimmed)) return null;
  let ms = 0;
  for (const { groups: { amount, unit } = {} } of trimmed.matchAll(PARTS)) {
    ms += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  }
  return ms / 1000;
}

/** The same the other way, exactly and in one unit: `7d`, `90m`, `50ms`. */
export function durationText(seconds: number): string {
  // To a microsecond, as 1.001 * 1000 is 1000.9999999999999.
  const ms = Math.round(seconds * 1_000_000) / 1000;
  const unit = ms === 0 ? 's' : (LARGEST_FIRST.find((candidate) => ms % UNIT_MS[candidate] === 0) ?? 'ms');
  return `${ms / UNIT_MS[unit]}${unit}`;
}

const SPANS = [
  ['d', UNIT_MS.d],
  ['h', UNIT_MS.h],
  ['min', UNIT_MS.m],
] as const;

/** A span of time for people, roughly: `90 s`, `2 min`, `36 h`, `2 d`. */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  for (const [unit, size] of SPANS)
    if (seconds * 1000 >= 2 * size) return `${Math.floor((seconds * 1000) / size)} ${unit}`;
  return `${seconds} s`;
}

/** `2026-11-29T22:49:09Z`: ISO 8601 to the second, as signed requests have it, and times in sentences. */
export function isoSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
