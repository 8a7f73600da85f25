import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

export const systemNotAvailable = {
  name: 'SYSTEM_NOT_AVAILABLE',
  says: 'a system that it needs is disabled',
  ...constantly(),
  tester: 'DEFAULT_SYSTEM_AVAILABLE_TESTER',
  recognizes: ({ kind }) => kind === 'SYSTEM_NOT_AVAILABLE',
} as const satisfies ConditionRule;
