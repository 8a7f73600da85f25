import { invalid } from './reader.js';

const MEMORY = /^(\d{1,9}(?:\.\d{1,6})?|\.\d{1,6}) ?(KB|MB|GB|TB)?$/i;
const MB: Readonly<Record<string, number>> = { KB: 1 / 1024, MB: 1, GB: 1024, TB: 1024 * 1024 };
const RUN_TIME = /^(\d{1,5}):([0-5]\d):([0-5]\d)$/;

/** 64 TiB. */
const MOST_MEMORY_MB = 64 * 1024 * 1024;
/** A year. */
const MOST_SECONDS = 31_536_000;

/** Megabytes of `200MB`, `1.5GB` or `5`, which is in GB (sheet §1.2); also of a number of GB. @throws MusterError `invalid_field` */
export function memoryMb(field: string, value: unknown): number {
  const [, amount, unit = 'GB'] = MEMORY.exec(typeof value === 'number' ? String(value) : String(value).trim()) ?? [];
  const known = typeof value === 'number' || typeof value === 'string';
  if (!known || amount === undefined)
    throw invalid(field, 'must be an amount of memory, such as 200MB, 1.5GB or 5 (GB)');
  const megabytes = Math.ceil(Number(amount) * (MB[unit.toUpperCase()] ?? 1));
  if (megabytes < 1 || megabytes > MOST_MEMORY_MB) throw invalid(field, 'must be from 1MB to 65536GB');
  return megabytes;
}

/** Seconds of `HH:mm:ss`. @throws MusterError `invalid_field` */
export function runSeconds(field: string, value: unknown): number {
  const [, hours, minutes, seconds] = (typeof value === 'string' ? RUN_TIME.exec(value) : null) ?? [];
  if (hours === undefined) throw invalid(field, 'must be a time in the form HH:mm:ss, such as 02:30:00');
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  if (total < 1 || total > MOST_SECONDS) throw invalid(field, 'must be from 00:00:01 to 8760:00:00');
  return total;
}

/** `HH:mm:ss`. */
export function runTimeText(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
