import { LIMITS } from '../limits.js';
import { Dropped, type OpenLimits } from './types.js';

/**
 * The first checks of sheet §3.5, before anything is looked at.
 * @throws Dropped `header_too_big`, `body_too_big`.
 */
export function checkSizes(header: Uint8Array, body: Uint8Array, maxBodyBytes: number = LIMITS.bodyBytes): void {
  if (header.length > LIMITS.headerBytes) throw new Dropped('header_too_big');
  if (body.length > maxBodyBytes) throw new Dropped('body_too_big');
}

/** Reads `timestamp` and drops what is too old or too far ahead: the difference must be below the limit (sheet §3.5). */
export function checkTimestamp(value: unknown, parse: (text: string) => number | null, limits: OpenLimits): number {
  const timestamp = parseTimestamp(value, parse);
  if (Math.abs(limits.now - timestamp) >= limits.maxSkewMs) throw new Dropped('bad_timestamp');
  return timestamp;
}

export function parseTimestamp(value: unknown, parse: (text: string) => number | null): number {
  const timestamp = typeof value === 'string' && value.length <= MAX_TIMESTAMP ? parse(value) : null;
  if (timestamp === null) throw new Dropped('bad_timestamp');
  return timestamp;
}

/** RFC 850 with the longest day name has 33 characters. */
const MAX_TIMESTAMP = 40;
