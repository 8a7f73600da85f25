import { constantly } from '../policies/constant.js';
import type { ConditionRule } from './types.js';

export const diskFull = {
  name: 'DISK_FULL',
  says: 'the disk of a system is full',
  ...constantly({ waitTime: '300000' }),
  tester: 'DEFAULT_DISK_TESTER',
  recognizes: ({ kind }) => kind === 'DISK_FULL',
} as const satisfies ConditionRule;
