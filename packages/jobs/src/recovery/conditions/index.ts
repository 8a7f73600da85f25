import type { Condition } from '../../machine.js';
import type { SystemTrouble } from '../../systems/types.js';
import type { Job, Obstacle } from '../../types.js';
import type { Parameters } from '../policies/index.js';
import { applicationNotAvailable } from './application-not-available.js';
import { authenticationFailed } from './authentication-failed.js';
import { connectionFailure } from './connection-failure.js';
import { connectionTimeout } from './connection-timeout.js';
import { diskFull } from './disk-full.js';
import { firstAuthenticationFailed } from './first-authentication-failed.js';
import { hostKeyChanged } from './host-key-changed.js';
import { quotaExceeded } from './quota-exceeded.js';
import { remoteEndUnconfirmed } from './remote-end-unconfirmed.js';
import { schedulerBusy } from './scheduler-busy.js';
import { serviceConnectionFailure } from './service-connection-failure.js';
import { systemNotAvailable } from './system-not-available.js';
import { transmissionFailure } from './transmission-failure.js';
import type { ConditionRule } from './types.js';

const ALL = [
  applicationNotAvailable,
  authenticationFailed,
  connectionFailure,
  connectionTimeout,
  diskFull,
  firstAuthenticationFailed,
  hostKeyChanged,
  quotaExceeded,
  remoteEndUnconfirmed,
  schedulerBusy,
  serviceConnectionFailure,
  systemNotAvailable,
  transmissionFailure,
] as const;

export type BlockingCondition = (typeof ALL)[number]['name'];

/**
 * All conditions that block jobs, by their names.
 *
 * A database that is away is none of them: a job cannot become BLOCKED without it, and its message comes again. A job that
 * somebody suspended is PAUSED.
 */
export const CONDITIONS = Object.fromEntries(ALL.map((rule) => [rule.name, rule])) as Readonly<
  Record<BlockingCondition, ConditionRule>
>;

export function ruleOf(condition: Condition): ConditionRule | null {
  return Object.hasOwn(CONDITIONS, condition) ? CONDITIONS[condition as BlockingCondition] : null;
}

/** @param parameters Of the tester of the condition. */
export function obstacle(condition: BlockingCondition, message: string, parameters: Parameters): Obstacle {
  return { condition, message, tester: CONDITIONS[condition].tester, parameters };
}

/** What the trouble of a system means for a job. null: no condition recognizes it. */
export function obstacleOf(trouble: SystemTrouble, job: Pick<Job, 'workPath'>): Obstacle | null {
  const found = ALL.find((rule: ConditionRule) => rule.recognizes?.(trouble, job));
  return found === undefined ? null : obstacle(found.name, trouble.message, { systemId: trouble.system });
}
