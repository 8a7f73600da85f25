import type { Condition } from '../machine.js';
import { SystemTrouble, type TroubleKind } from '../systems/types.js';
import { Blocked, Failed, type Job, type Obstacle } from '../types.js';
import { constantBackoff } from './policies/constant.js';
import type { Parameters } from './policies/index.js';
import { type Step, stepsText, stepwiseBackoff } from './policies/stepwise.js';

/** How jobs that are blocked for a condition are recovered. */
export interface ConditionRule {
  /** In a sentence about the job. */
  readonly says: string;
  /** Type of its policy: when it is tested again, and for how long. */
  readonly policy: string;
  readonly parameters: Parameters;
  /** Type of its tester: who says that it is over. */
  readonly tester: string;
}

const MINUTE = 60_000;

const constant = (parameters: Parameters = {}) => ({ policy: constantBackoff.type, parameters });
const stepwise = (steps: readonly Step[] | null = null, parameters: Parameters = {}) => ({
  policy: stepwiseBackoff.type,
  parameters: { ...(steps === null ? {} : { steps: stepsText(steps) }), ...parameters },
});

/**
 * Conditions that block jobs until they are over, with the policy and the tester of each (sheet §7.1). A new one is a line here.
 *
 * A database that is away is none of them: a job cannot become BLOCKED without it, and its message comes again. A job that
 * somebody suspended is PAUSED.
 */
export const CONDITIONS = {
  APPLICATION_NOT_AVAILABLE: {
    says: 'its app is disabled',
    ...constant(),
    tester: 'DEFAULT_APPLICATION_TESTER',
  },
  SYSTEM_NOT_AVAILABLE: {
    says: 'a system that it needs is disabled',
    ...constant(),
    tester: 'DEFAULT_SYSTEM_AVAILABLE_TESTER',
  },
  /** As in any queue, it waits for as long as it takes. */
  QUOTA_EXCEEDED: {
    says: 'as many jobs run as may',
    ...constant({ maxElapsedSeconds: '0' }),
    tester: 'DEFAULT_QUOTA_TESTER',
  },
  /** A cluster may be down for a day: the last step goes on until the time is over. */
  CONNECTION_FAILURE: {
    says: 'its system cannot be reached',
    ...stepwise([
      [5, MINUTE],
      [5, 2 * MINUTE],
      [-1, 5 * MINUTE],
    ]),
    tester: 'DEFAULT_CONNECTION_TESTER',
  },
  CONNECTION_TIMEOUT: {
    says: 'its system does not answer',
    ...stepwise([
      [5, MINUTE],
      [5, 2 * MINUTE],
      [-1, 5 * MINUTE],
    ]),
    tester: 'DEFAULT_CONNECTION_TIMEOUT_TESTER',
  },
  AUTHENTICATION_FAILED: {
    says: 'its system refuses the login',
    ...constant({ maxTries: '15' }),
    tester: 'DEFAULT_AUTHENTICATION_TESTER',
  },
  /** More likely a mistake in how the system is described. */
  FIRST_AUTHENTICATION_FAILED: {
    says: 'its system refuses the login',
    ...constant({ maxTries: '3' }),
    tester: 'DEFAULT_FIRST_AUTHENTICATION_TESTER',
  },
  /** Nothing is sent to such a host. Whoever looks after the system says whether the new key is right. */
  HOST_KEY_CHANGED: {
    says: 'its system has another host key than is known',
    ...constant(),
    tester: 'DEFAULT_HOST_KEY_TESTER',
  },
  TRANSMISSION_FAILURE: {
    says: 'a transfer broke off',
    ...stepwise(),
    tester: 'DEFAULT_TRANSMISSION_TESTER',
  },
  DISK_FULL: {
    says: 'the disk of a system is full',
    ...constant({ waitTime: String(5 * MINUTE) }),
    tester: 'DEFAULT_DISK_TESTER',
  },
  SCHEDULER_BUSY: {
    says: 'the scheduler of its system takes nothing now',
    ...constant(),
    tester: 'DEFAULT_SCHEDULER_TESTER',
  },
  SERVICE_CONNECTION_FAILURE: {
    says: 'a server that it needs files of cannot be reached',
    ...stepwise([
      [5, MINUTE],
      [30, 2 * MINUTE],
    ]),
    tester: 'DEFAULT_SERVICE_CONNECTION_TESTER',
  },
  /** Of jobs that have ended: what runs of them on their system may go on. */
  REMOTE_END_UNCONFIRMED: {
    says: 'its program may still run',
    ...stepwise(),
    tester: 'DEFAULT_REMOTE_END_TESTER',
  },
} as const satisfies Readonly<Record<Condition, ConditionRule>>;

export type BlockingCondition = keyof typeof CONDITIONS;

export function ruleOf(condition: Condition): ConditionRule | null {
  return (CONDITIONS as Readonly<Record<string, ConditionRule>>)[condition] ?? null;
}

/** @param parameters Of the tester of the condition. */
export function obstacle(condition: BlockingCondition, message: string, parameters: Parameters): Obstacle {
  return { condition, message, tester: CONDITIONS[condition].tester, parameters };
}

/** What the trouble of a system means for a job. */
const TROUBLES: Readonly<Record<TroubleKind, BlockingCondition>> = {
  SYSTEM_NOT_AVAILABLE: 'SYSTEM_NOT_AVAILABLE',
  CONNECTION_FAILURE: 'CONNECTION_FAILURE',
  CONNECTION_TIMEOUT: 'CONNECTION_TIMEOUT',
  AUTHENTICATION_FAILED: 'AUTHENTICATION_FAILED',
  HOST_KEY_CHANGED: 'HOST_KEY_CHANGED',
  TRANSMISSION_FAILURE: 'TRANSMISSION_FAILURE',
  DISK_FULL: 'DISK_FULL',
  SCHEDULER_BUSY: 'SCHEDULER_BUSY',
};

/** A job that was blocked so often has something that no test sees. Waiting for one's turn does not count. */
const MOST_BLOCKS = 100;
/** An error may be the cause of another, which may be the cause of another. */
const MOST_CAUSES = 10;

/**
 * What an error of a phase means for its job: that it is blocked, or that it has failed. null: neither is known of it, it is a
 * fault of Muster.
 */
export function outcomeOf(error: unknown, job: Pick<Job, 'workPath' | 'blockedCount'>): Blocked | Failed | null {
  let cause = error;
  for (let depth = 0; depth < MOST_CAUSES && cause instanceof Error; depth++, cause = cause.cause) {
    if (cause instanceof Failed) return cause;
    if (cause instanceof Blocked) return bounded(cause, job);
    if (cause instanceof SystemTrouble) return bounded(blockedBy(cause, job), job);
  }
  return null;
}

function blockedBy(trouble: SystemTrouble, { workPath }: Pick<Job, 'workPath'>): Blocked {
  const kind = TROUBLES[trouble.kind];
  // Nothing of the job is on any system yet.
  const condition = kind === 'AUTHENTICATION_FAILED' && workPath === null ? 'FIRST_AUTHENTICATION_FAILED' : kind;
  return new Blocked(obstacle(condition, trouble.message, { systemId: trouble.system }), { cause: trouble });
}

function bounded(blocked: Blocked, { blockedCount }: Pick<Job, 'blockedCount'>): Blocked | Failed {
  if (blockedCount < MOST_BLOCKS || blocked.obstacle.condition === 'QUOTA_EXCEEDED') return blocked;
  const often = `It was blocked ${blockedCount} times, and tests see nothing wrong: ${blocked.message}`;
  return new Failed('JOB_RECOVERY_FAILURE', often, { cause: blocked });
}
