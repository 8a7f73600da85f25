import { inSteps } from '../policies/stepwise.js';
import type { ConditionRule } from './types.js';

/** A cluster may be down for a day: the last step goes on until the time is over. */
export const connectionFailure = {
  name: 'CONNECTION_FAILURE',
  says: 'its system cannot be reached',
  ...inSteps([
    [5, 60_000],
    [5, 120_000],
    [-1, 300_000],
  ]),
  tester: 'DEFAULT_CONNECTION_TESTER',
  recognizes: ({ kind }) => kind === 'CONNECTION_FAILURE',
} as const satisfies ConditionRule;
