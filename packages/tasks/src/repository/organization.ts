import { deleteSome, type Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { clearDisbatch } from '../disbatch/clear.js';
import { STATUS } from '../status.js';

type Trx = Transaction<Schema>;

/** Why an organization cannot be deleted now: a node has a task of it. Null when none has. */
export async function activeTask(trx: Trx, orgId: string): Promise<string | null> {
  const live = await trx
    .selectFrom('tasks')
    .select('id')
    .where('status', 'in', [STATUS.claimed, STATUS.running])
    .where('org_id', '=', orgId)
    .limit(1)
    .executeTakeFirst();
  return live === undefined ? null : `a node has task ${live.id}`;
}

/** Its schedules and queues go, and their tasks as those of deleted queues do. True when nothing is left. */
export async function clearTasks(trx: Trx, orgId: string, most: number): Promise<boolean> {
  await trx.deleteFrom('calendars').where('org_id', '=', orgId).execute();
  const where = ['org_id', [orgId]] as const;
  if (!(await deleteSome(trx, { table: 'schedule_runs', key: ['schedule_id', 'id'], where, most }))) return false;
  await trx.deleteFrom('task_bulk_runs').where('org_id', '=', orgId).execute();
  await trx.deleteFrom('schedules').where('org_id', '=', orgId).execute();
  const queues = await trx.selectFrom('task_queues').select('id').where('org_id', '=', orgId).limit(most).execute();
  const ids = queues.map(({ id }) => id);
  if (ids.length > 0) {
    await trx
      .insertInto('deleted_task_queues')
      .values(ids.map((queue_id) => ({ queue_id })))
      .execute();
    await trx.deleteFrom('task_keys').where('queue_id', 'in', ids).execute();
    await trx.deleteFrom('task_queues').where('id', 'in', ids).execute();
  }
  if (!(await clearDisbatch(trx, orgId, most))) return false;
  await trx.deleteFrom('task_nodes').where('org_id', '=', orgId).execute();
  return ids.length < most;
}
