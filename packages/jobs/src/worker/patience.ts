import type { Clock } from '@muster/base';
import { MusterError } from '@muster/base/errors';
import { LIMITS } from './limits.js';
import { pause } from './pause.js';

/**
 * Does it again until the database is there. @throws the reason of the signal when that is aborted first
 * @param passes What else it waits out.
 */
export async function patiently<T>(
  clock: Pick<Clock, 'after'>,
  signal: AbortSignal,
  work: () => Promise<T>,
  passes: (error: unknown) => boolean = isStoreAway,
): Promise<T> {
  for (let ms: number = LIMITS.storeFirstMs; ; ms = Math.min(2 * ms, LIMITS.storeMostMs)) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error)) throw error;
    }
    await pause(clock, ms, signal);
  }
}

/** That passes. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof MusterError && error.code === 'store_unavailable';
}

/** So does that. */
export function isStoreOrBrokerAway(error: unknown): boolean {
  return isStoreAway(error) || (error instanceof MusterError && error.code === 'broker_unavailable');
}
