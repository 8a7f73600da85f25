import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';

type Trx = Transaction<Schema>;

const ENDED = ['FINISHED', 'STOPPED', 'FAILED'] as const;
/** What hangs on a job by its uuid. */
const OF_JOBS = ['job_history', 'job_permissions', 'job_blocked', 'job_notifications'] as const;
const OF_ORGANIZATIONS = ['job_recovery', 'job_queues', 'job_systems', 'job_apps', 'job_workers'] as const;

/** Why an organization cannot be deleted now: a job of it has not ended. Null when all have. */
export async function unfinishedJob(trx: Trx, orgId: string): Promise<string | null> {
  const live = await trx
    .selectFrom('jobs')
    .select('uuid')
    .where('org_id', '=', orgId)
    .where('status', 'not in', ENDED)
    .limit(1)
    .executeTakeFirst();
  return live === undefined ? null : `job ${live.uuid} has not ended`;
}

/** At most so many of its jobs, and then the rest of what is its own. True when nothing is left. */
export async function clearJobs(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const jobs = await trx.selectFrom('jobs').select('uuid').where('org_id', '=', orgId).limit(most).execute();
  const uuids = jobs.map(({ uuid }) => uuid);
  if (uuids.length > 0) {
    for (const table of OF_JOBS) await trx.deleteFrom(table).where('uuid', 'in', uuids).execute();
    await trx.deleteFrom('jobs').where('uuid', 'in', uuids).execute();
  }
  if (uuids.length === most) return false;
  for (const table of OF_ORGANIZATIONS) await trx.deleteFrom(table).where('org_id', '=', orgId).execute();
  await trx.deleteFrom('job_stray_messages').where('org_id', '=', orgId).execute();
  return true;
}
