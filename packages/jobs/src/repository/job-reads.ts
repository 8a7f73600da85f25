import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { orderField, readCondition } from '../search/conditions.js';
import type { Fields } from '../search/fields.js';

export interface HistorySearch {
  /** What may be searched and sorted by. */
  readonly fields: Fields;
  readonly conditions: readonly (readonly [string, string])[];
  readonly limit: number;
  readonly offset: number;
  readonly order: 'asc' | 'desc' | null;
  readonly orderBy: string | null;
}

/** What happened to a job, oldest first unless it is said otherwise. @throws MusterError `job_invalid` */
export async function historyOf(read: Kysely<Schema>, uuid: string, search: HistorySearch, now: number) {
  const { fields, conditions, limit, offset, order, orderBy } = search;
  let query = read
    .selectFrom('job_history')
    .select(['event', 'status', 'at', 'by', 'description'])
    .where('uuid', '=', uuid);
  for (const [name, value] of conditions) {
    const sought = readCondition({ fields, now }, name, value);
    if ('sql' in sought) query = query.where(sought.sql);
  }
  const way = order ?? 'asc';
  if (orderBy !== null) query = query.orderBy(orderField(fields, orderBy).value, way);
  // As the entries were made: those of the same moment, too.
  return query.orderBy('id', way).limit(limit).offset(offset).execute();
}
