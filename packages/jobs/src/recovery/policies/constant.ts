import { withinTime } from './elapsed.js';
import { notIntegers, readInteger } from './read.js';
import type { Parameters, Policy } from './types.js';

const WAIT_MS = 60_000;

/** The same time between any two tests: `waitTime` in milliseconds, a minute at least; `maxTries`, 0 or less for no limit. */
export const constantBackoff: Policy = {
  type: 'CONSTANT_BACKOFF',
  next(parameters, waited, now) {
    const tries = readInteger(parameters, 'maxTries', 0);
    if (tries > 0 && waited.attempts >= tries) return { kind: 'give-up', reason: 'TOO_MANY_ATTEMPTS' };
    return withinTime(parameters, Math.max(WAIT_MS, readInteger(parameters, 'waitTime', WAIT_MS)), waited, now);
  },
  mistakes: (parameters) => notIntegers(parameters, ['waitTime', 'maxTries', 'maxElapsedSeconds']),
};

/** Of a condition that is tested in this way. */
export const constantly = (parameters: Parameters = {}) => ({ policy: constantBackoff.type, parameters });
