import { namesOf, type Outgoing } from '@muster/broker';
import type { Job, Obstacle } from '../types.js';
import { ruleOf } from './conditions/index.js';
import { testerHash } from './grouping.js';

/** What the reader of the recovery queue is told (sheet §5.5). */
export type RecoveryMessage =
  /** A job was blocked: its rows are stored. */
  | { readonly type: 'RECOVER'; readonly job: string }
  | {
      readonly type: 'CANCEL_RECOVER' | 'PAUSE_RECOVER' | 'RESUME_JOB';
      readonly job: string;
      readonly by: string | null;
      readonly says: string;
    }
  | { readonly type: 'TEST_NOW'; readonly record: string }
  | { readonly type: 'GIVE_UP'; readonly record: string; readonly by: string }
  | { readonly type: 'RECOVER_SHUTDOWN' };

const SAID = {
  CANCEL_RECOVER: 'Recovery cancelled at user request.',
  PAUSE_RECOVER: 'Job paused by request.',
  RESUME_JOB: 'Job resumed by request.',
} as const;

const MOST_TEXT = 2048;

/** What is wrong with it, as a text; it belongs in the dead-letter queue. */
export function readMessage(body: Buffer): RecoveryMessage | string {
  let read: unknown;
  try {
    read = JSON.parse(body.toString('utf8'));
  } catch {
    return 'it is no JSON';
  }
  if (read === null || typeof read !== 'object') return 'it is no object';
  const { msgType, jobUuid, recoveryId, by, statusMessage } = read as Readonly<Record<string, unknown>>;
  switch (msgType) {
    case 'RECOVER':
      return typeof jobUuid === 'string' ? { type: msgType, job: jobUuid } : 'it names no job';
    case 'CANCEL_RECOVER':
    case 'PAUSE_RECOVER':
    case 'RESUME_JOB':
      if (typeof jobUuid !== 'string') return 'it names no job';
      return { type: msgType, job: jobUuid, by: text(by), says: text(statusMessage) ?? SAID[msgType] };
    case 'TEST_NOW':
      return typeof recoveryId === 'string' ? { type: msgType, record: recoveryId } : 'it names no record';
    case 'GIVE_UP':
      if (typeof recoveryId !== 'string') return 'it names no record';
      return { type: msgType, record: recoveryId, by: text(by) ?? 'somebody' };
    case 'RECOVER_SHUTDOWN':
      return { type: msgType };
    default:
      return `its msgType is ${JSON.stringify(msgType)?.slice(0, 64)}`;
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, MOST_TEXT) : null;
}

let correlations = 0;

/** Published when the rows of `blockedRows` are stored: it wakes the reader, who finds them also without it. */
export function recoverOf(
  job: Pick<Job, 'uuid' | 'owner' | 'tenant' | 'status' | 'resumeAt'>,
  obstacle: Obstacle,
  senderId: string,
): Outgoing {
  const { condition, message, tester, parameters } = obstacle;
  const rule = ruleOf(condition);
  return toRecovery(job.tenant, {
    msgType: 'RECOVER',
    correlationId: ++correlations,
    senderId,
    jobUuid: job.uuid,
    jobOwner: job.owner,
    tenantId: job.tenant,
    conditionCode: condition,
    policyType: rule?.policy ?? '',
    policyParameters: sorted(rule?.parameters ?? {}),
    successStatus: job.resumeAt ?? job.status,
    statusMessage: message,
    testerType: tester,
    testerParameters: sorted(parameters),
    testerHash: testerHash(job.tenant, obstacle),
  });
}

/** Asks the reader of an organization for a test of one record now, or to fail its jobs. */
export function recordCommandOf(
  tenant: string,
  msgType: 'TEST_NOW' | 'GIVE_UP',
  recoveryId: string,
  by: string,
): Outgoing {
  return toRecovery(tenant, {
    msgType,
    correlationId: ++correlations,
    senderId: 'jobs-front',
    tenantId: tenant,
    recoveryId,
    by,
  });
}

function toRecovery(tenant: string, body: object): Outgoing {
  return { exchange: namesOf(tenant).recoveryExchange, key: '', body: JSON.stringify(body) };
}

function sorted(parameters: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1)));
}
