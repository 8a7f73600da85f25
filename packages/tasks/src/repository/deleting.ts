import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { STATUS } from '../status.js';

/** They are gone at once; what is left of them follows. Those that wait for one that succeeded wait for it no more. */
export async function deleteTasks(trx: Transaction<Schema>, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const there = trx.selectFrom('tasks').select('id').where('id', 'in', ids);
  await trx
    .deleteFrom('task_dependencies')
    .where('after_id', 'in', there.where('status', '=', STATUS.succeeded))
    .execute();
  await trx
    .insertInto('deleted_tasks')
    .columns(['task_id'])
    .expression(there)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { numDeletedRows } = await trx.deleteFrom('tasks').where('id', 'in', ids).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
