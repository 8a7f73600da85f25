import { parseDuration } from '@muster/base';
import { MusterError } from './errors.js';

const LONGEST_DAYS = 10 * 365;
const LONGEST_SECONDS = LONGEST_DAYS * 86_400;

/** Reads what was typed after `flag` as seconds. @throws MusterError `usage` */
export function durationOf(flag: string, text: string): number {
  const seconds = parseDuration(text);
  if (seconds === null) {
    const reason = `${flag}: '${text}' is not a duration; write it like 500ms, 90s, 10m, 1h or 30d`;
    throw new MusterError('usage', { reason });
  }
  if (seconds <= LONGEST_SECONDS) return seconds;
  throw new MusterError('usage', { reason: `${flag}: '${text}' is too long: at most ${LONGEST_DAYS}d` });
}

/** Makes the argument of `flag` a duration. */
export function duration(flag: string): (text: string) => number {
  return (text) => durationOf(flag, text);
}

/** A time, in ISO 8601, of what was typed after `flag`: that, or so long from now. @throws MusterError `usage` */
export function parseTime(flag: string, text: string, now: number): string {
  const seconds = parseDuration(text);
  const ms = seconds === null ? Date.parse(text) : now + seconds * 1000;
  if (!Number.isNaN(ms) && Math.abs(ms) < 8.64e15) return new Date(ms).toISOString();
  const reason = `${flag}: '${text}' is neither a duration such as 10m nor a time such as 2026-09-16T12:00:00Z`;
  throw new MusterError('usage', { reason });
}

/** `7s`, `2m 05s`, `3h 04m`, `2d 03h`: two units at most. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number) => String(value).padStart(2, '0');
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86_400)}d ${two(Math.floor((whole % 86_400) / 3600))}h`;
}
