import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { RUNBOOK_LIMITS } from './limits.js';
import type { RunbookRow, VersionRow } from './reads.js';

type Trx = Transaction<Schema>;

export async function countRunbooks(trx: Trx, orgId: string): Promise<number> {
  const { count } = await trx
    .selectFrom('push_runbooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('org_id', '=', orgId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function addRunbook(trx: Trx, row: RunbookRow, version: VersionRow): Promise<void> {
  await trx.insertInto('push_runbooks').values(row).execute();
  await trx.insertInto('push_runbook_versions').values(version).execute();
}

/** False when it has another version by now, or is gone. */
export async function changeRunbook(trx: Trx, row: RunbookRow, version: VersionRow): Promise<boolean> {
  const { id, created_at: _, ...changed } = row;
  const { numUpdatedRows } = await trx
    .updateTable('push_runbooks')
    .set(changed)
    .where('id', '=', id)
    .where('version', '=', row.version - 1)
    .executeTakeFirstOrThrow();
  if (Number(numUpdatedRows) === 0) return false;
  await trx.insertInto('push_runbook_versions').values(version).execute();
  await trx
    .deleteFrom('push_runbook_versions')
    .where('runbook_id', '=', id)
    .where('version', '<=', row.version - RUNBOOK_LIMITS.versions)
    .execute();
  return true;
}

export async function deleteRunbooks(trx: Trx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await trx.deleteFrom('push_runbook_versions').where('runbook_id', 'in', ids).execute();
  await trx.deleteFrom('push_runbooks').where('id', 'in', ids).execute();
}

/** Of an organization that was deleted, at most so many. True when none is left. */
export async function clearRunbooks(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const rows = await trx.selectFrom('push_runbooks').select('id').where('org_id', '=', orgId).limit(most).execute();
  await deleteRunbooks(
    trx,
    rows.map(({ id }) => id),
  );
  return rows.length < most;
}
