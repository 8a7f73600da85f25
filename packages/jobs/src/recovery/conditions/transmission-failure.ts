import { inSteps } from '../policies/stepwise.js';
import type { ConditionRule } from './types.js';

export const transmissionFailure = {
  name: 'TRANSMISSION_FAILURE',
  says: 'a transfer broke off',
  ...inSteps(),
  tester: 'DEFAULT_TRANSMISSION_TESTER',
  recognizes: ({ kind }) => kind === 'TRANSMISSION_FAILURE',
} as const satisfies ConditionRule;
