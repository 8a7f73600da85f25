import { MusterError } from '../errors.js';

export type Fields = Readonly<Record<string, unknown>>;

/** The field's path is cut: it may come from the request. */
export function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field: field.slice(0, 80), reason });
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws MusterError `invalid_field` for the first field that is none of these. */
export function checkKnown(value: Fields, known: ReadonlySet<string>, within = ''): void {
  for (const key of Object.keys(value)) if (!known.has(key)) throw invalid(within + key, 'there is no such field');
}

export function integer(field: string, value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(field, `must be a whole number from ${least} to ${most}`);
}

/** NUL ends strings for PostgreSQL; unpaired surrogates are not text. */
export function text(field: string, value: unknown, most: number): string {
  if (typeof value !== 'string' || value === '' || [...value].length > most) {
    throw invalid(field, `must be text of 1 to ${most} characters`);
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(value)) throw invalid(field, 'must be text without control characters');
  return value;
}

/** Milliseconds since the epoch, of a time in ISO 8601 or of such milliseconds. */
export function time(field: string, value: unknown): number {
  const ms = typeof value === 'string' ? Date.parse(value) : value;
  if (typeof ms === 'number' && Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw invalid(field, 'must be a time, such as 2026-09-16T12:00:00Z');
}
