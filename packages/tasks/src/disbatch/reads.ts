import type { Schema } from '@muster/store';
import type { ExpressionBuilder, Kysely } from 'kysely';
import { goingQueues } from '../repository/reads.js';
import type { Narrowing } from './filter/narrow.js';

type Read = Kysely<Schema>;

function fits(
  eb: ExpressionBuilder<Schema, 'tasks'>,
  orgId: string,
  { queues, ids, statuses, leastStatus, mostStatus, after, before }: Narrowing,
) {
  return eb.and([
    eb('org_id', '=', orgId),
    ...(queues === undefined ? [] : [queues.length === 0 ? eb.lit(false) : eb('queue_id', 'in', queues)]),
    ...(ids === undefined ? [] : [ids.length === 0 ? eb.lit(false) : eb('id', 'in', ids)]),
    ...(statuses === undefined ? [] : [statuses.length === 0 ? eb.lit(false) : eb('status', 'in', statuses)]),
    ...(leastStatus === undefined ? [] : [eb('status', '>=', leastStatus)]),
    ...(mostStatus === undefined ? [] : [eb('status', '<=', mostStatus)]),
    ...(after === undefined ? [] : [eb('id', '>', after)]),
    ...(before === undefined ? [] : [eb('id', '<', before)]),
  ]);
}

export async function countTasks(read: Read, orgId: string, narrowing: Narrowing): Promise<number> {
  const row = await read
    .selectFrom('tasks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where((eb) => fits(eb, orgId, narrowing))
    .where('queue_id', 'not in', goingQueues(read))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** The balance document of an organization, JSON. */
export async function balanceOf(read: Read, orgId: string): Promise<string | undefined> {
  const row = await read.selectFrom('task_balances').select('document').where('org_id', '=', orgId).executeTakeFirst();
  return row?.document;
}

/** Of all organizations. */
export function balances(read: Read): Promise<{ org_id: string; document: string }[]> {
  return read.selectFrom('task_balances').selectAll().orderBy('org_id').execute();
}

/** Documents of a collection in their order, from the one after `from` on. */
export function pageOfDocuments(
  read: Read,
  { orgId, name, from, limit }: { orgId: string; name: string; from: number; limit: number },
): Promise<{ position: number; document: string }[]> {
  return read
    .selectFrom('task_documents')
    .select(['position', 'document'])
    .where('org_id', '=', orgId)
    .where('collection', '=', name)
    .where('position', '>', from)
    .orderBy('position')
    .limit(limit)
    .execute();
}

export async function collectionsOf(read: Read, orgId: string): Promise<{ name: string; documents: number }[]> {
  const rows = await read
    .selectFrom('task_documents')
    .select((eb) => ['collection as name', eb.fn.countAll<number>().as('documents')])
    .where('org_id', '=', orgId)
    .groupBy('collection')
    .orderBy('collection')
    .execute();
  return rows.map(({ name, documents }) => ({ name, documents: Number(documents) }));
}

/** The position of the last document; 0: there is none. */
export async function lastPosition(read: Read, orgId: string, name: string): Promise<number> {
  const row = await read
    .selectFrom('task_documents')
    .select((eb) => eb.fn.max<number | null>('position').as('last'))
    .where('org_id', '=', orgId)
    .where('collection', '=', name)
    .executeTakeFirstOrThrow();
  return Number(row.last ?? 0);
}
