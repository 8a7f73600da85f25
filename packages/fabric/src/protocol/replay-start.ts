/** Where a subscription begins in the log: the header `from`. */
export type ReplayStart =
  /** At the oldest event that is kept. */
  | { readonly kind: 'first' }
  /** With the events after that position. */
  | { readonly kind: 'position'; readonly position: number }
  /** With the events not older than that time, in milliseconds since the epoch. */
  | { readonly kind: 'time'; readonly atMs: number }
  /** With the events of the last so many milliseconds. */
  | { readonly kind: 'ago'; readonly ms: number };

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The header `from`: `first`, a position (events after it), a time with its zone (`2026-11-20T12:00:00Z`), or how long
 * ago (`-10s`, `-30m`, `-1h`, `-2d`). Null: none of these.
 */
export function parseFrom(text: string): ReplayStart | null {
  if (text === 'first') return { kind: 'first' };
  if (/^\d{1,15}$/.test(text)) return { kind: 'position', position: Number(text) };
  const ago = /^-(\d{1,9})([smhd])$/.exec(text);
  if (ago !== null) return { kind: 'ago', ms: Number(ago[1]) * (UNITS[ago[2] ?? ''] ?? 0) };
  const atMs = parseTime(text);
  return atMs === null ? null : { kind: 'time', atMs };
}

/** The header `at`: a time with its zone, or milliseconds since the epoch. Null: neither. */
export function parseAt(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : parseTime(text);
}

/** The largest number that `parseFrom` takes. */
const MOST_SECONDS = 999_999_999;

/**
 * The header `from` for subscribing again, so long after the first time: `-1h` still means an hour before the first
 * time.
 */
export function laterAgo(from: string, elapsedMs: number): string {
  const asked = parseFrom(from);
  if (asked?.kind !== 'ago') return from;
  return secondsAgo(asked.ms + elapsedMs);
}

export function secondsAgo(ms: number): string {
  return `-${Math.min(Math.max(0, Math.ceil(ms / 1000)), MOST_SECONDS)}s`;
}

/** A time with its zone. Null: it is none. */
export function parseTime(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isFinite(atMs) ? atMs : null;
}
