import type { Schema } from '@muster/store';
import { type Kysely, sql } from 'kysely';
import { obstacle } from '../recovery/conditions/index.js';
import type { Check } from '../repository/job-store.js';
import { ACTIVE_STATUSES } from '../status.js';
import type { System } from '../systems/types.js';
import { Blocked, type Job } from '../types.js';
import '../repository/tables.js';

/** What counts against a limit: jobs that a worker works on, but for those that are only beginning (sheet §6.9). */
const COUNTED = ACTIVE_STATUSES.filter((status) => status !== 'PENDING');

export interface Counts {
  readonly system: number;
  readonly user: number;
  readonly queue: number;
  readonly userQueue: number;
}

/** A limit that is reached. */
export interface Violation {
  readonly quota: keyof Counts;
  readonly code: string;
  readonly limit: number;
}

/** The first limit that is reached, in the order of the sheet; null: there is room. */
export function violated(
  system: Pick<System, 'maxJobs' | 'maxJobsPerUser' | 'queues'>,
  remoteQueue: string | null,
  counts: Counts,
): Violation | null {
  const queue = system.queues.find(({ name }) => name === remoteQueue);
  const limits: readonly [keyof Counts, string, number | undefined][] = [
    ['system', 'JOBS_QUOTA_MAX_JOBS', system.maxJobs],
    ['user', 'JOBS_QUOTA_MAX_USER_JOBS', system.maxJobsPerUser],
    ['queue', 'JOBS_QUOTA_MAX_QUEUE_JOBS', queue?.maxJobs],
    ['userQueue', 'JOBS_QUOTA_MAX_USER_QUEUE_JOBS', queue?.maxUserJobs],
  ];
  for (const [quota, code, limit = 0] of limits) {
    if (limit > 0 && counts[quota] >= limit) return { quota, code, limit };
  }
  return null;
}

/** Whether a system has any limit that a job could meet: without one nothing is counted. */
export function hasQuota(
  { maxJobs = 0, maxJobsPerUser = 0, queues }: Pick<System, 'maxJobs' | 'maxJobsPerUser' | 'queues'>,
  remoteQueue: string | null,
): boolean {
  const queue = queues.find(({ name }) => name === remoteQueue);
  return [maxJobs, maxJobsPerUser, queue?.maxJobs ?? 0, queue?.maxUserJobs ?? 0].some((limit) => limit > 0);
}

type Counted = Pick<Job, 'orgId' | 'systemId' | 'owner' | 'remoteQueue'>;

/** All four counts in one look. */
export async function countJobs(read: Kysely<Schema>, job: Counted): Promise<Counts> {
  const mine = sql<number>`case when owner = ${job.owner} then 1 else 0 end`;
  const here = sql<number>`case when remote_queue = ${job.remoteQueue} then 1 else 0 end`;
  const row = await read
    .selectFrom('jobs')
    .select([
      sql<number>`count(*)`.as('system'),
      sql<number | null>`sum(${mine})`.as('user'),
      sql<number | null>`sum(${here})`.as('queue'),
      sql<number | null>`sum(${mine} * ${here})`.as('userQueue'),
    ])
    .where('org_id', '=', job.orgId)
    .where('system_id', '=', job.systemId)
    .where('status', 'in', COUNTED)
    .executeTakeFirstOrThrow();
  const { system, user, queue, userQueue } = row;
  return { system: Number(system), user: Number(user), queue: Number(queue), userQueue: Number(userQueue) };
}

/**
 * Limits of execution systems (sheet §6.9): what is checked in the transaction that makes the job count. Transactions of its kind
 * are serializable: of two workers that count at the same moment one counts again. null: the system has no limit.
 */
export function roomFor(job: Job, system: System): Check | null {
  if (!hasQuota(system, job.remoteQueue)) return null;
  return async (trx) => {
    const violation = violated(system, job.remoteQueue, await countJobs(trx, job));
    if (violation !== null) throw new Blocked(obstacleOf(job, violation));
  };
}

function obstacleOf(job: Job, { quota, code, limit }: Violation) {
  const user = quota === 'user' || quota === 'userQueue';
  const queue = quota === 'queue' || quota === 'userQueue';
  const of = [user ? ` of ${job.owner}` : '', queue ? ` in the queue ${job.remoteQueue}` : ''].join('');
  const says = `${code} ${limit} jobs${of} run on ${job.systemId}, which is as many as may`;
  return obstacle('QUOTA_EXCEEDED', says, {
    systemId: job.systemId,
    ...(user && { owner: job.owner }),
    ...(queue && { queue: job.remoteQueue ?? '' }),
  });
}
