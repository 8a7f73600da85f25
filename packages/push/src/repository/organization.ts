import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { UNFINISHED } from './reads.js';

type Trx = Transaction<Schema>;

/** Why an organization cannot be deleted now: a push job of it that has not finished. Null when there is none. */
export async function unfinishedPushJob(trx: Trx, orgId: string): Promise<string | null> {
  const live = await trx
    .selectFrom('push_jobs')
    .select('id')
    .where('org_id', '=', orgId)
    .where('phase', 'in', UNFINISHED)
    .limit(1)
    .executeTakeFirst();
  return live === undefined ? null : `job ${live.id} has not finished`;
}

/**
 * What is left of an organization that was deleted: its push jobs go, at most so many at once, and the rows of their nodes
 * and their output follow as those of old push jobs do. True when none is left.
 */
export async function clearPushJobs(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const rows = await trx.selectFrom('push_jobs').select('id').where('org_id', '=', orgId).limit(most).execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await deletePushJobs(trx, ids);
  return ids.length < most;
}

/** They are gone at once and whole for everybody who looks. How many there were. */
export async function deletePushJobs(trx: Trx, ids: readonly string[]): Promise<number> {
  const there = trx.selectFrom('push_jobs').select('id').where('id', 'in', ids);
  await trx.insertInto('deleted_push_jobs').columns(['job_id']).expression(there).execute();
  const { numDeletedRows } = await trx.deleteFrom('push_jobs').where('id', 'in', ids).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
