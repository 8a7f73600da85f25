import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

/** Nothing is sent to such a host. Whoever looks after the system says whether the new key is right. */
export const hostKeyChanged = {
  name: 'HOST_KEY_CHANGED',
  says: 'its system has another host key than is known',
  ...constantly(),
  tester: 'DEFAULT_HOST_KEY_TESTER',
  recognizes: ({ kind }) => kind === 'HOST_KEY_CHANGED',
} as const satisfies ConditionRule;
