import { OUTBOUND_LIMITS } from './limits.js';

export const RETRY_STRATEGIES = ['NONE', 'IMMEDIATE', 'DELAYED', 'EXPONENTIAL'] as const;
export type RetryStrategy = (typeof RETRY_STRATEGIES)[number];

/** How often, and when, what could not be delivered is tried again. Times in seconds. */
export interface RetryPolicy {
  readonly retryStrategy: RetryStrategy;
  /** Retries after the first attempt. */
  readonly retryLimit: number;
  /** Between two retries. */
  readonly retryRate: number;
  /** Before the first retry. */
  readonly retryDelay: number;
  /** Whether what was given up is kept in the log. */
  readonly saveOnFailure: boolean;
}

export const DEFAULT_RETRIES: RetryPolicy = {
  retryStrategy: 'IMMEDIATE',
  retryLimit: 5,
  retryRate: 5,
  retryDelay: 0,
  saveOnFailure: true,
};

const FIRST_SECONDS = 5;

/** Milliseconds until the next attempt after so many; null: there is none. */
export function retryAfter(policy: RetryPolicy, attempts: number): number | null {
  const { retryStrategy: strategy, retryLimit, retryRate, retryDelay } = policy;
  if (strategy === 'NONE' || attempts > retryLimit) return null;
  return seconds() * 1000;

  function seconds(): number {
    if (strategy === 'EXPONENTIAL') {
      const first = retryDelay > 0 ? retryDelay : FIRST_SECONDS;
      return Math.min(OUTBOUND_LIMITS.retrySeconds, first * 2 ** (attempts - 1));
    }
    if (attempts > 1) return retryRate;
    return strategy === 'DELAYED' ? retryDelay : 0;
  }
}

/** As somebody gave it; what is not understood is as if it were not there, what is too much is the most. */
export function readRetries(given: unknown): RetryPolicy {
  if (given === null || typeof given !== 'object') return DEFAULT_RETRIES;
  const { retryStrategy, retryLimit, retryRate, retryDelay, saveOnFailure } = given as Partial<
    Record<keyof RetryPolicy, unknown>
  >;
  const { retries, retrySeconds } = OUTBOUND_LIMITS;
  return {
    retryStrategy: RETRY_STRATEGIES.find((known) => known === retryStrategy) ?? DEFAULT_RETRIES.retryStrategy,
    retryLimit: within(retryLimit, retries) ?? DEFAULT_RETRIES.retryLimit,
    retryRate: within(retryRate, retrySeconds) ?? DEFAULT_RETRIES.retryRate,
    retryDelay: within(retryDelay, retrySeconds) ?? DEFAULT_RETRIES.retryDelay,
    saveOnFailure: typeof saveOnFailure === 'boolean' ? saveOnFailure : DEFAULT_RETRIES.saveOnFailure,
  };
}

function within(value: unknown, most: number): number | null {
  return typeof value === 'number' && Number.isInteger(value) ? Math.min(most, Math.max(0, value)) : null;
}
