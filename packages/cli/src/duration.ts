import { MusterError } from '@muster/wire';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const LONGEST_DAYS = 10 * 365;
const LONGEST_SECONDS = LONGEST_DAYS * 86_400;

/** Reads `90`, `90s`, `10m`, `1h`, `1h30m` or `30d` as seconds. */
export function parseDuration(text: string): number {
  const bad = () =>
    new MusterError('usage', { reason: `'${text}' is not a duration; write it like 90, 90s, 10m, 1h or 30d` });
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return bounded(Number(trimmed), text);
  if (!/^(\d+(\.\d+)?[smhdw])+$/.test(trimmed)) throw bad();
  let seconds = 0;
  for (const [, amount = '0', unit = 's'] of trimmed.matchAll(/(\d+(?:\.\d+)?)([smhdw])/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit] ?? 1);
  }
  return bounded(seconds, text);
}

function bounded(seconds: number, text: string): number {
  if (seconds <= LONGEST_SECONDS) return seconds;
  throw new MusterError('usage', { reason: `'${text}' is too long: at most ${LONGEST_DAYS}d` });
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
