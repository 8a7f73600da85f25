import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

export const schedulerBusy = {
  name: 'SCHEDULER_BUSY',
  says: 'the scheduler of its system takes nothing now',
  ...constantly(),
  tester: 'DEFAULT_SCHEDULER_TESTER',
  recognizes: ({ kind }) => kind === 'SCHEDULER_BUSY',
} as const satisfies ConditionRule;
