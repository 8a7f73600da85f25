import type { Json } from '@muster/wire';

/**
 * Extended JSON, as MongoDB's programs write it, in both of its versions: ids as text, numbers as numbers, dates as milliseconds or
 * as text. What is none of these stays as it is.
 */
export function plain(value: Json, dates: 'ms' | 'text'): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: Json) => plain(one, dates));
  const entries = Object.entries(value) as [string, Json][];
  const [entry] = entries;
  if (entries.length === 1 && entry !== undefined) {
    const [name, inner] = entry;
    if (name === '$oid' && typeof inner === 'string') return inner.toLowerCase();
    if (NUMBERS.has(name) && typeof inner !== 'object' && !Number.isNaN(Number(inner))) return Number(inner);
    if (name === '$date') return dateOf(plain(inner, 'ms'), dates);
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, plain(inner, dates)]));
}

const NUMBERS: ReadonlySet<string> = new Set(['$numberInt', '$numberLong', '$numberDouble', '$numberDecimal']);

/** The greatest time that a date of JavaScript has. */
const LAST_MS = 8.64e15;

function dateOf(value: Json, dates: 'ms' | 'text'): Json {
  const ms = typeof value === 'string' ? Date.parse(value) : value;
  if (typeof ms !== 'number' || Number.isNaN(ms) || Math.abs(ms) > LAST_MS) return value;
  return dates === 'ms' ? ms : new Date(ms).toISOString();
}
