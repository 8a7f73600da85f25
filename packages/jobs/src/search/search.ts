import type { Schema } from '@muster/store';
import { type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import { SEEING, WORLD } from '../controller/access.js';
import type { Asker } from '../controller/ports.js';
import { MusterError } from '../errors.js';
import { type JobRow, jobOf } from '../repository/job-row.js';
import type { Job } from '../types.js';
import { orderField, readConditions, type Sql } from './conditions.js';
import { type Field, JOB_FIELDS } from './fields.js';
import { hasPattern, lookThrough } from './looking.js';
import { readSelector } from './selector.js';

export interface JobSearch {
  /** `FIELD[.OPERATOR]` and its value: all must hold. */
  readonly conditions: readonly (readonly [string, string])[];
  /** A selector besides. */
  readonly where: string | null;
  readonly limit: number;
  readonly offset: number;
  readonly order: 'asc' | 'desc' | null;
  readonly orderBy: string | null;
}

/** Conditions of one search. */
const MOST_CONDITIONS = 30;

type Column = keyof JobRow & string;

interface Plan {
  readonly sql: readonly Sql[];
  /** What is looked for in rows, and what of them is needed for that. */
  readonly looks: readonly ((row: Partial<JobRow>) => boolean)[];
  readonly columns: ReadonlySet<Column>;
  /** Of the query parameter on account of which rows are looked at. */
  readonly because: string;
  readonly hidden: boolean;
}

/**
 * Jobs that somebody may see, and that are sought (sheet §8.5): the ones changed last come first unless it is said otherwise.
 * @throws MusterError `job_invalid`, `invalid_selector`, `job_search_too_wide`
 */
export async function searchJobs(
  read: Kysely<Schema>,
  orgId: string,
  asker: Asker,
  search: JobSearch,
  now: number,
): Promise<readonly Job[]> {
  const plan = planOf(search, now);
  const field = search.orderBy === null ? null : orderField(JOB_FIELDS, search.orderBy);
  const { limit, offset } = search;
  if (limit === 0) return [];
  const found = () => sorted(visible(read, orgId, asker, plan), field, search.order);
  if (plan.looks.length === 0) {
    const rows = await found().selectAll('jobs').limit(limit).offset(offset).execute();
    return rows.map(jobOf);
  }
  const columns = [...new Set<Column>([...plan.columns, 'uuid'])].map((column) => `jobs.${column}` as const);
  const looking = {
    page: (most: number, from: number) => found().select(columns).limit(most).offset(from).execute(),
    meant: (row: Partial<JobRow>) => plan.looks.every((look) => look(row)),
    because: plan.because,
  };
  const rows = await lookThrough(looking, limit, offset);
  return jobsById(
    read,
    rows.map(({ uuid }) => uuid),
  );
}

/** The jobs that somebody may see and that changed last, by no more than their names. */
export async function newestJobs(read: Kysely<Schema>, orgId: string, asker: Asker, most: number) {
  const found = sorted(visible(read, orgId, asker, planOf(EVERYTHING, 0)), null, null);
  return found.select(['jobs.uuid', 'jobs.name', 'jobs.status']).limit(most).execute();
}

const EVERYTHING = { conditions: [], where: null };

async function jobsById(read: Kysely<Schema>, uuids: readonly string[]): Promise<readonly Job[]> {
  if (uuids.length === 0) return [];
  const rows = await read.selectFrom('jobs').selectAll().where('uuid', 'in', uuids).execute();
  const byId = new Map(rows.map((row) => [row.uuid, jobOf(row)]));
  return uuids.flatMap((uuid) => byId.get(uuid) ?? []);
}

function planOf({ conditions, where }: Pick<JobSearch, 'conditions' | 'where'>, now: number): Plan {
  if (conditions.length > MOST_CONDITIONS) {
    throw new MusterError('job_invalid', {
      code: 'ALOE_INVALID_PARAMETER',
      field: 'query',
      reason: `has more than ${MOST_CONDITIONS} conditions`,
    });
  }
  const read = readConditions({ fields: JOB_FIELDS, now }, conditions);
  const selector = where === null ? null : readSelector(where);
  const look = selector?.look ?? null;
  return {
    sql: [...read.sql, ...(selector?.narrowing ?? [])],
    looks: [
      ...read.looks.map((one) => (row: Partial<JobRow>) => hasPattern(one, row)),
      ...(look === null ? [] : [look.matches]),
    ],
    columns: new Set([...read.looks.map(({ column }) => column), ...(look?.columns ?? [])]),
    because: look === null ? read.because : 'where',
    hidden: selector?.hidden === true || conditions.some(([name]) => /^visible(?:\.|$)/i.test(name)),
  };
}

type Where = ExpressionBuilder<Schema, 'jobs'>;

function visible(read: Kysely<Schema>, orgId: string, { user, admin }: Asker, plan: Plan) {
  const shared = (where: Where) =>
    where(
      'jobs.uuid',
      'in',
      where
        .selectFrom('job_permissions')
        .select('job_permissions.uuid')
        .where('job_permissions.username', 'in', [user, WORLD])
        .where('job_permissions.permission', 'in', [...SEEING]),
    );
  let query = read.selectFrom('jobs').where('jobs.org_id', '=', orgId);
  if (!plan.hidden) query = query.where('jobs.visible', '=', 1);
  if (!admin) {
    query = query.where((where) =>
      where.or([
        where('jobs.owner', '=', user),
        // Hidden ones are for their owner alone.
        plan.hidden ? where.and([where('jobs.visible', '=', 1), shared(where)]) : shared(where),
      ]),
    );
  }
  for (const part of plan.sql) query = query.where(part);
  return query;
}

/** What has no value comes last, whatever the database thinks of it; and what is equal always in the same order. */
function sorted(query: ReturnType<typeof visible>, field: Field<string> | null, order: 'asc' | 'desc' | null) {
  if (field === null) {
    const way = order ?? 'desc';
    return query.orderBy('jobs.last_updated', way).orderBy('jobs.uuid', way);
  }
  const way = order ?? 'asc';
  const ordered = field.always
    ? query
    : query.orderBy(sql<SqlBool>`case when ${field.value} is null then 1 else 0 end`, 'asc');
  return ordered.orderBy(field.value, way).orderBy('jobs.uuid', way);
}
