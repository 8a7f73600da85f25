import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { orderField, readConditions } from '../search/conditions.js';
import type { Fields, HistoryColumn } from '../search/fields.js';
import { hasPattern, lookThrough } from '../search/looking.js';

export interface HistorySearch {
  /** What may be searched and sorted by. */
  readonly fields: Fields<HistoryColumn>;
  readonly conditions: readonly (readonly [string, string])[];
  readonly limit: number;
  readonly offset: number;
  readonly order: 'asc' | 'desc' | null;
  readonly orderBy: string | null;
}

/** What happened to a job, oldest first unless it is said otherwise. @throws MusterError `job_invalid`, `job_search_too_wide` */
export async function historyOf(read: Kysely<Schema>, uuid: string, search: HistorySearch, now: number) {
  const { fields, conditions, limit, offset, order, orderBy } = search;
  let query = read
    .selectFrom('job_history')
    .select(['id', 'event', 'status', 'at', 'by', 'description', 'address'])
    .where('uuid', '=', uuid);
  const { sql, looks, because } = readConditions({ fields, now }, conditions);
  for (const part of sql) query = query.where(part);
  const way = order ?? 'asc';
  if (orderBy !== null) query = query.orderBy(orderField(fields, orderBy).value, way);
  // As the entries were made: those of the same moment, too.
  query = query.orderBy('id', way);
  const page = (most: number, from: number) => query.limit(most).offset(from).execute();
  if (looks.length === 0) return page(limit, offset);
  return lookThrough(
    { page, meant: (entry) => looks.every((look) => hasPattern(look, entry)), because },
    limit,
    offset,
  );
}
