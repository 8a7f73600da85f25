import { inSteps } from '../policies/stepwise.js';
import type { ConditionRule } from './types.js';

export const connectionTimeout = {
  name: 'CONNECTION_TIMEOUT',
  says: 'its system does not answer',
  ...inSteps([
    [5, 60_000],
    [5, 120_000],
    [-1, 300_000],
  ]),
  tester: 'DEFAULT_CONNECTION_TIMEOUT_TESTER',
  recognizes: ({ kind }) => kind === 'CONNECTION_TIMEOUT',
} as const satisfies ConditionRule;
