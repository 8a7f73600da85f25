import { parseTime } from '@muster/fabric/client';

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `+10m`, or a time with its zone, in milliseconds since the epoch. Undefined: there is none. Null: it cannot be read. */
export function timeOf(text: string, now: number): number | null | undefined {
  const given = text.trim();
  if (given === '') return undefined;
  const [, count, unit = ''] = /^\+(\d{1,9})([smhd])$/.exec(given) ?? [];
  return count === undefined ? parseTime(given) : now + Number(count) * (UNITS[unit] ?? 0);
}
