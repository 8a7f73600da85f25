import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

export const authenticationFailed = {
  name: 'AUTHENTICATION_FAILED',
  says: 'its system refuses the login',
  ...constantly({ maxTries: '15' }),
  tester: 'DEFAULT_AUTHENTICATION_TESTER',
  recognizes: ({ kind }, { workPath }) => kind === 'AUTHENTICATION_FAILED' && workPath !== null,
} as const satisfies ConditionRule;
