import { type RowOf, upsert, type Write } from '@muster/store';
import '../repository/tables.js';
import { mayRun } from '../may-run.js';
import type { Status } from '../status.js';
import type { Job, Obstacle } from '../types.js';
import { obstacle, ruleOf } from './conditions/index.js';
import { parametersText, testerHash } from './grouping.js';
import type { Parameters } from './policies/index.js';

const RECORD = {
  id: 'text',
  org_id: 'text',
  condition: 'text',
  tester: 'text',
  tester_parameters: 'text',
  policy: 'text',
  policy_parameters: 'text',
  last_updated: 'integer',
} as const;
const BLOCKED = {
  uuid: 'text',
  recovery_id: 'text',
  org_id: 'text',
  success_status: 'text',
  message: 'text',
  created: 'integer',
  state: 'text',
} as const;

/**
 * Makes the record, or joins it: either way its row is locked, so that the reader, which locks it before it looks whether
 * anybody waits there, cannot delete it meanwhile. Its attempts and times are the reader's: a job that joins brings no test
 * forward.
 */
const join = upsert('job_recovery', RECORD, ['id']);
const block: (row: RowOf<'job_blocked', typeof BLOCKED>) => Write = upsert('job_blocked', BLOCKED, ['uuid']);

type Blockable = Pick<Job, 'uuid' | 'orgId' | 'tenant' | 'resumeAt' | 'status'>;

/** What is stored in the transaction in which a job becomes BLOCKED. @param job As it was before. */
export function blockedRows(job: Blockable, { message, ...at }: Obstacle, now: number): Write[] {
  return entered(job, { ...at, message }, now, 'waiting', job.resumeAt ?? job.status);
}

/**
 * What is stored in the transaction in which a job ends, if something of it may run on its system: the recovery reader ends it
 * there, and goes on trying until that is confirmed. Who has ended it by itself deletes the row.
 */
export function killRows(
  job: Blockable & Pick<Job, 'systemId' | 'remoteJobId' | 'remoteEnded' | 'workPath'>,
  now: number,
): Write[] {
  if (!mayRun(job)) return [];
  return entered(job, remoteEndOf(job), now, 'killing', job.resumeAt ?? job.status);
}

/** What those wait for that have ended, and of which something may run. */
export function remoteEndOf({ systemId, remoteJobId }: Pick<Job, 'systemId' | 'remoteJobId'>): Obstacle {
  const says = `Its program ${remoteJobId ?? ''} may still run on ${systemId}.`;
  return obstacle('REMOTE_END_UNCONFIRMED', says, { systemId });
}

/** What is stored in the transaction in which a job gets its status back: its message is published after. */
export function releasingRow(job: Blockable, recoveryId: string, message: string, now: number): Write {
  const status = job.resumeAt ?? job.status;
  return block({
    uuid: job.uuid,
    recovery_id: recoveryId,
    org_id: job.orgId,
    success_status: status,
    message,
    created: now,
    state: 'releasing',
  });
}

function entered(
  { uuid, orgId, tenant }: Blockable,
  { condition, message, tester, parameters }: Obstacle,
  now: number,
  state: 'waiting' | 'killing',
  status: Status,
): Write[] {
  const id = testerHash(tenant, { tester, parameters });
  const rule = ruleOf(condition);
  const policy: { readonly policy: string; readonly parameters: Parameters } = rule ?? { policy: '', parameters: {} };
  return [
    join({
      id,
      org_id: orgId,
      condition,
      tester,
      tester_parameters: parametersText(parameters),
      policy: policy.policy,
      policy_parameters: parametersText(policy.parameters),
      last_updated: now,
    }),
    block({ uuid, recovery_id: id, org_id: orgId, success_status: status, message, created: now, state }),
  ];
}
