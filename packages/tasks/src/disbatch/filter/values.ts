import type { Json } from '@muster/wire';
import { isId } from '../../ids.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';

/** How the values of a field are compared, and so how those in a filter are read. */
export type FieldKind = 'id' | 'time' | 'other';

/** Fields of a task that are not what they seem in JSON. */
export const TASK_FIELDS: ReadonlyMap<string, FieldKind> = new Map([
  ['_id', 'id'],
  ['queue', 'id'],
  ['ctime', 'time'],
  ['mtime', 'time'],
]);

/** Greater numbers are milliseconds, others seconds (sheet §4C). */
const LAST_SECONDS = 9_999_999_999;

/** A value of a filter as documents have it: ids as text, times in milliseconds. @throws Refusal */
export function readValue(value: Json, kind: FieldKind): Json {
  const plain = unwrap(value);
  switch (kind) {
    case 'id':
      return plain;
    case 'time':
      return readTime(plain);
    case 'other':
      return plain;
  }
}

/** Extended JSON as what it stands for. @throws Refusal */
function unwrap(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const [entry, ...rest] = Object.entries(value);
  if (entry === undefined || rest.length > 0) return value;
  const [name, inner] = entry;
  switch (name) {
    case '$oid':
      if (typeof inner === 'string' && isId(inner.toLowerCase())) return inner.toLowerCase();
      throw new Refusal(`Bad OID passed: ${JSON.stringify(inner).slice(0, DISBATCH_LIMITS.echoed)}`);
    case '$numberInt':
    case '$numberLong':
    case '$numberDouble': {
      const number = Number(inner);
      if (Number.isNaN(number)) throw new Refusal(`bad number passed: ${name}`);
      return number;
    }
    case '$date':
      return dateMs(inner ?? null);
    default:
      return value;
  }
}

function dateMs(inner: Json): number {
  const plain = unwrap(inner);
  const ms = typeof plain === 'number' ? plain : typeof plain === 'string' ? Date.parse(plain) : Number.NaN;
  if (Number.isNaN(ms)) throw new Refusal('bad date passed: $date must be an ISO 8601 text or milliseconds');
  return ms;
}

function readTime(value: Json): Json {
  if (typeof value === 'number') return value > LAST_SECONDS ? value : value * 1000;
  if (typeof value !== 'string') return value;
  if (/^\d+(\.\d+)?$/.test(value)) return readTime(Number(value));
  // Those that are shown have no zone; they are UTC.
  const ms = Date.parse(/T[\d:.]+$/.test(value) ? `${value}Z` : value);
  return Number.isNaN(ms) ? value : ms;
}
