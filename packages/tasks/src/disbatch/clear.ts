import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import type {} from '../repository/tables.js';

type Trx = Transaction<Schema>;

/** What the command interface keeps of an organization goes, at most so many documents at once. True when nothing is left. */
export async function clearDisbatch(trx: Trx, orgId: string, most: number): Promise<boolean> {
  await trx.deleteFrom('task_import_files').where('org_id', '=', orgId).execute();
  await trx.deleteFrom('task_balances').where('org_id', '=', orgId).execute();
  const collections = await trx
    .selectFrom('task_documents')
    .select('collection')
    .distinct()
    .where('org_id', '=', orgId)
    .limit(2)
    .execute();
  const [first] = collections;
  if (first === undefined) return true;
  return (await clearCollection(trx, orgId, first.collection, most)) && collections.length === 1;
}

/** Documents of a collection go, at most so many at once. True when none is left. */
export async function clearCollection(trx: Trx, orgId: string, name: string, most: number): Promise<boolean> {
  const rows = await trx
    .selectFrom('task_documents')
    .select('position')
    .where('org_id', '=', orgId)
    .where('collection', '=', name)
    .orderBy('position')
    .limit(most)
    .execute();
  const last = rows.at(-1);
  if (last !== undefined) {
    await trx
      .deleteFrom('task_documents')
      .where('org_id', '=', orgId)
      .where('collection', '=', name)
      .where('position', '<=', last.position)
      .execute();
  }
  return rows.length < most;
}
