import { jobKey, namesOf, type Outgoing } from '@muster/broker';
import type { Job } from './types.js';

/** What is sent over the broker in the name of a job (sheet §5.5). */

/**
 * Of the whole job, so that whoever takes it can store it when the row is not there yet.
 * @param address Where its request came from; null: not known, or its row is there.
 */
export function submissionOf(job: Job, idempotencyKey: string | null, address: string | null = null): Outgoing {
  return {
    exchange: namesOf(job.tenant).submitExchange,
    key: job.queue,
    // A repeat after a doubtful publish is the same message.
    id: job.uuid,
    body: JSON.stringify({ msgType: 'SUBMIT_JOB', job: { ...job, idempotencyKey, address } }),
  };
}

export type JobCommand = 'JOB_CANCEL' | 'JOB_PAUSE' | 'JOB_STATUS';

/** To the topic of a job, where the worker that has it hears it. */
export function commandOf({ tenant, uuid }: Pick<Job, 'tenant' | 'uuid'>, msgType: JobCommand): Outgoing {
  return {
    exchange: namesOf(tenant).commandExchange,
    key: jobKey(uuid),
    body: JSON.stringify({ msgType, correlationId: uuid, senderId: SENDER, jobuuid: uuid }),
  };
}

export type RecoveryCommand = 'CANCEL_RECOVER' | 'PAUSE_RECOVER' | 'RESUME_JOB';

const SAID: Readonly<Record<RecoveryCommand, object>> = {
  CANCEL_RECOVER: { newStatus: 'STOPPED', statusMessage: 'Recovery cancelled at user request.' },
  PAUSE_RECOVER: { newStatus: 'PAUSED', statusMessage: 'Job paused by request.' },
  RESUME_JOB: { statusMessage: 'Job resumed by request.' },
};

/** To the recovery queue of its organization, whose reader has the jobs that are BLOCKED or PAUSED. */
export function recoveryCommandOf(
  { tenant, uuid }: Pick<Job, 'tenant' | 'uuid'>,
  msgType: RecoveryCommand,
  by: string,
): Outgoing {
  return {
    exchange: namesOf(tenant).recoveryExchange,
    key: '',
    body: JSON.stringify({
      msgType,
      correlationId: uuid,
      senderId: SENDER,
      jobUuid: uuid,
      tenantId: tenant,
      by,
      ...SAID[msgType],
    }),
  };
}

const SENDER = 'jobs-front';
