import { inSteps } from '../policies/stepwise.js';
import type { ConditionRule } from './types.js';

export const serviceConnectionFailure = {
  name: 'SERVICE_CONNECTION_FAILURE',
  says: 'a server that it needs files of cannot be reached',
  ...inSteps([
    [5, 60_000],
    [30, 120_000],
  ]),
  tester: 'DEFAULT_SERVICE_CONNECTION_TESTER',
} as const satisfies ConditionRule;
