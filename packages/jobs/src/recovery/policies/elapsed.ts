import { readInteger } from './read.js';
import type { Next, Parameters, Waited } from './types.js';

/** 48 hours. */
const MOST_SECONDS = 172_800;
/** Between two tests. The first one may be made at once. */
const LEAST_MS = 5000;

/** What all policies share: `maxElapsedSeconds`, 0 or less for no limit, and the least time between two tests (sheet §7.5). */
export function withinTime(parameters: Parameters, waitMs: number, { attempts, created }: Waited, now: number): Next {
  const wait = Math.max(attempts === 0 ? 0 : LEAST_MS, waitMs);
  const seconds = readInteger(parameters, 'maxElapsedSeconds', MOST_SECONDS);
  if (seconds <= 0) return { kind: 'wait', ms: wait };
  const left = created + seconds * 1000 - now;
  if (left <= 0) return { kind: 'give-up', reason: 'TIME_EXPIRED' };
  // One more test at the very end.
  return { kind: 'wait', ms: Math.min(wait, left) };
}

/** When it is given up at the latest, in milliseconds since the epoch; null: never for the time alone. */
export function expiry(parameters: Parameters, created: number): number | null {
  const seconds = readInteger(parameters, 'maxElapsedSeconds', MOST_SECONDS);
  return seconds <= 0 ? null : created + seconds * 1000;
}
