import { fits } from './access.js';

/** Types of what Muster itself tells: nobody else publishes them. */
export const OWN_TYPES = [
  'approval.*',
  'audit.*',
  'auth.*',
  'event.*',
  'fabric.*',
  'job.*',
  'job_message.*',
  'job_queue.*',
  'job_recovery.*',
  'job_worker.*',
  'node.*',
  'push.*',
  'queue.*',
  'rule.*',
  'runbook.*',
  'schedule.*',
  'task.*',
] as const;

export function isOwnType(type: string): boolean {
  return OWN_TYPES.some((own) => fits(own, type));
}
