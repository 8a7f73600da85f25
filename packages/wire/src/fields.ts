import { Dropped } from './dialects/types.js';
import { LIMITS } from './limits.js';

/** A parsed body. Nothing in it is trusted: each field goes through a reader here, which drops what does not fit. */
export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws Dropped `parse_fail` unless it is a JSON object in UTF-8. */
export function parseObject(body: Uint8Array): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    throw new Dropped('parse_fail');
  }
  if (!isObject(value)) throw new Dropped('parse_fail');
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bounded(value: unknown, maxBytes: number): string {
  if (typeof value !== 'string' || value.length > maxBytes) throw new Dropped('parse_fail');
  // A character takes at most three bytes.
  if (value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes) throw new Dropped('parse_fail');
  return value;
}

/** A string of at most `maxBytes`. */
export function text(from: JsonObject, name: string, maxBytes: number): string {
  return bounded(from[name], maxBytes);
}

/** The same, not empty. */
export function name(from: JsonObject, field: string, maxBytes: number = LIMITS.nameBytes): string {
  const value = bounded(from[field], maxBytes);
  if (value === '') throw new Dropped('parse_fail');
  return value;
}

/** The same of a list. */
export function item(from: unknown, index: number, maxBytes: number): string {
  const value = bounded(Array.isArray(from) ? from[index] : undefined, maxBytes);
  if (value === '') throw new Dropped('parse_fail');
  return value;
}

/** Absent and null are both null. */
export function nullable<T>(from: JsonObject, field: string, read: (from: JsonObject, field: string) => T): T | null {
  return from[field] === undefined || from[field] === null ? null : read(from, field);
}

export function jobId(from: JsonObject, field: string): string {
  return name(from, field, LIMITS.jobIdBytes);
}

const SESSION = /^[0-9a-f]{32}$/;

export function sessionId(from: JsonObject, field: string): string {
  const value = name(from, field, 32);
  if (!SESSION.test(value)) throw new Dropped('parse_fail');
  return value;
}

/** Cut to the limit rather than refused: a long reason is still a reason. */
export function reason(from: JsonObject, field: string): string {
  const value = from[field];
  if (typeof value !== 'string') throw new Dropped('parse_fail');
  return truncate(value, LIMITS.reasonBytes);
}

/** A count: an integer from 0, or from `minimum`. */
export function count(from: JsonObject, field: string, minimum = 0): number {
  return counted(from[field], minimum);
}

/** The same of a list. */
export function countItem(from: unknown, index: number, minimum: number): number {
  return counted(Array.isArray(from) ? from[index] : undefined, minimum);
}

function counted(value: unknown, minimum: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < minimum) throw new Dropped('parse_fail');
  return value;
}

/** A number of seconds, fractions allowed. */
export function seconds(from: JsonObject, field: string): number {
  const value = from[field];
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new Dropped('parse_fail');
  return value;
}

export function flag(from: JsonObject, field: string): boolean {
  const value = from[field];
  if (typeof value !== 'boolean') throw new Dropped('parse_fail');
  return value;
}

export function oneOf<T extends string>(from: JsonObject, field: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === from[field]);
  if (found === undefined) throw new Dropped('parse_fail');
  return found;
}

export function object(from: JsonObject, field: string): JsonObject {
  const value = from[field];
  if (!isObject(value)) throw new Dropped('parse_fail');
  return value;
}

/** Standard base64 with padding, at most `maxBytes` decoded. */
export function base64(from: JsonObject, field: string, maxBytes: number): Uint8Array {
  const value = from[field];
  if (typeof value !== 'string' || value.length > Math.ceil(maxBytes / 3) * 4 || value.length % 4 !== 0) {
    throw new Dropped('parse_fail');
  }
  const bytes = Buffer.from(value, 'base64');
  // A pattern takes as long for it as all else together. The decoder skips what is not base64, so that less comes out; but of characters beyond
  // ASCII it reads the low byte, and it takes the letters of base64url, too.
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0;
  const whole = bytes.length === (value.length / 4) * 3 - padding;
  const standard = Buffer.byteLength(value) === value.length && !value.includes('-') && !value.includes('_');
  if (!whole || !standard || bytes.length > maxBytes) throw new Dropped('parse_fail');
  return bytes;
}

/** Cuts to `maxBytes` of UTF-8, between characters. */
export function truncate(value: string, maxBytes: number): string {
  const bytes = Buffer.from(value);
  if (bytes.length <= maxBytes) return value;
  let end = maxBytes;
  // Continuation bytes are 10xxxxxx: step back to the start of the character that is cut.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
