import { MusterError } from '../errors.js';

export type Body = Readonly<Record<string, unknown>>;

/** The field's path is cut: it may come from the request. */
export function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field: field.slice(0, 80), reason });
}

/** A key that a body may not have: deployed clients compare the message, so that the advice names it. */
export function invalidKey(key: string): MusterError {
  return new MusterError('invalid_key', { key: key.slice(0, 80) });
}

/** NUL ends strings for the operating system and PostgreSQL alike; unpaired surrogates are not text. */
export function checkText(field: string, value: string, maxBytes: number): void {
  if (value.includes('\0') || /\p{Surrogate}/u.test(value)) throw invalid(field, 'must be text without NUL');
  if (Buffer.byteLength(value) > maxBytes) throw invalid(field, `must not be above ${maxBytes} bytes`);
}

export function has(body: Body, key: string): boolean {
  return Object.hasOwn(body, key);
}

export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

export function isStringMap(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}
