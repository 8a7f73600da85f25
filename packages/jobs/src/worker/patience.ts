import type { Clock } from '@muster/base';
import { MusterError } from '@muster/base/errors';
import { LIMITS } from './limits.js';
import { pause } from './pause.js';

/** Does it again until the database is there. @throws the reason of the signal when that is aborted first */
export async function patiently<T>(
  clock: Pick<Clock, 'after'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (let ms: number = LIMITS.storeFirstMs; ; ms = Math.min(2 * ms, LIMITS.storeMostMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreAway(error)) throw error;
    }
    await pause(clock, ms, signal);
  }
}

/** That passes. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof MusterError && error.code === 'store_unavailable';
}
