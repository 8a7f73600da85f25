import { inSteps } from '../policies/stepwise.js';
import type { ConditionRule } from './types.js';

/** Of jobs that have ended: what runs of them on their system may go on. */
export const remoteEndUnconfirmed = {
  name: 'REMOTE_END_UNCONFIRMED',
  says: 'its program may still run',
  ...inSteps(),
  tester: 'DEFAULT_REMOTE_END_TESTER',
} as const satisfies ConditionRule;
