import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { clearApprovals } from '../approvals/repository.js';
import { clearCommands } from '../commands/repository.js';
import { deleteFiles } from '../files/repository.js';
import { clearNodeOwners } from '../ownership/repository.js';
import { clearRunbooks } from '../runbooks/writes.js';
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

/** What is left of an organization that was deleted goes, at most so many rows at once. True when nothing is left. */
export async function clearPush(trx: Trx, orgId: string, most: number): Promise<boolean> {
  await trx.deleteFrom('push_settings').where('org_id', '=', orgId).execute();
  await trx.deleteFrom('push_approval_policies').where('org_id', '=', orgId).execute();
  return (
    (await clearPushJobs(trx, orgId, most)) &&
    (await clearFiles(trx, orgId, most)) &&
    (await clearCommands(trx, orgId, most)) &&
    (await clearRunbooks(trx, orgId, most)) &&
    (await clearApprovals(trx, orgId, most)) &&
    clearNodeOwners(trx, orgId, most)
  );
}

/** The rows of their nodes and their output follow as those of old push jobs do. */
async function clearPushJobs(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const rows = await trx.selectFrom('push_jobs').select('id').where('org_id', '=', orgId).limit(most).execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await deletePushJobs(trx, ids);
  return ids.length < most;
}

/** Their pieces follow as those of old files do. */
async function clearFiles(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const rows = await trx.selectFrom('push_files').select('id').where('org_id', '=', orgId).limit(most).execute();
  await deleteFiles(
    trx,
    rows.map(({ id }) => id),
  );
  return rows.length < most;
}

/** They are gone at once and whole for everybody who looks. How many there were. */
export async function deletePushJobs(trx: Trx, ids: readonly string[]): Promise<number> {
  const there = trx.selectFrom('push_jobs').select('id').where('id', 'in', ids);
  await trx.insertInto('deleted_push_jobs').columns(['job_id']).expression(there).execute();
  const { numDeletedRows } = await trx.deleteFrom('push_jobs').where('id', 'in', ids).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
