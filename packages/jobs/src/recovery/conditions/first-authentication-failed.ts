import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

/** More likely a mistake in how the system is described. */
export const firstAuthenticationFailed = {
  name: 'FIRST_AUTHENTICATION_FAILED',
  says: 'its system refuses the login',
  ...constantly({ maxTries: '3' }),
  tester: 'DEFAULT_FIRST_AUTHENTICATION_TESTER',
  // Nothing of the job is on any system yet.
  recognizes: ({ kind }, { workPath }) => kind === 'AUTHENTICATION_FAILED' && workPath === null,
} as const satisfies ConditionRule;
