import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

export const applicationNotAvailable = {
  name: 'APPLICATION_NOT_AVAILABLE',
  says: 'its app is disabled',
  ...constantly(),
  tester: 'DEFAULT_APPLICATION_TESTER',
} as const satisfies ConditionRule;
