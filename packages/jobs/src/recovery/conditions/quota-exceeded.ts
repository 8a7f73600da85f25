import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

/** As in any queue, it waits for as long as it takes. */
export const quotaExceeded = {
  name: 'QUOTA_EXCEEDED',
  says: 'as many jobs run as may',
  ...constantly({ maxElapsedSeconds: '0' }),
  tester: 'DEFAULT_QUOTA_TESTER',
  isTurn: true,
} as const satisfies ConditionRule;
