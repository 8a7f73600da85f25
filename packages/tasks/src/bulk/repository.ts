import type { Organization } from '@muster/platform/auth';
import { insert, type Schema, update, type Write } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import './tables.js';
import type { Counts, Refusals } from './tally.js';
import type { BulkRun, BulkState } from './types.js';

type WholeRow = Selectable<Schema['task_bulk_runs']>;
/** Without the tasks that were named: they may be many. */
export type Row = Omit<WholeRow, 'ids'>;

const STANDING = {
  state: 'text',
  reason: 'text',
  place: 'text',
  matched: 'integer',
  acted: 'integer',
  refused: 'text',
  ended_at: 'integer',
} as const;

const SHOWN = [
  ...(['id', 'org_id', 'queue_id', 'action', 'code', 'selector', 'until', 'counted'] as const),
  ...(['owner_id', 'owner_type', 'owner_name', 'created_at'] as const),
  ...(Object.keys(STANDING) as (keyof typeof STANDING)[]),
];

const addRun: (row: WholeRow) => Write = insert('task_bulk_runs', {
  id: 'text',
  org_id: 'text',
  queue_id: 'text',
  action: 'text',
  code: 'integer',
  selector: 'text',
  ids: 'text',
  until: 'text',
  counted: 'integer',
  owner_id: 'text',
  owner_type: 'text',
  owner_name: 'text',
  created_at: 'integer',
  ...STANDING,
});

const writeStanding: (row: Pick<Row, 'id' | keyof typeof STANDING>) => Write = update(
  'task_bulk_runs',
  { id: 'text', ...STANDING },
  ['id'],
);

export function addBulkRun(run: BulkRun, state: BulkState): Write {
  const { id, org, queueId, action, code, about, counted, owner, createdAt } = run;
  return addRun({
    ...standingRow(id, state),
    org_id: org.id,
    queue_id: queueId,
    action,
    code,
    selector: about.selector,
    ids: about.ids && JSON.stringify(about.ids),
    until: about.until,
    counted,
    owner_id: owner.principalId,
    owner_type: owner.type,
    owner_name: owner.name,
    created_at: createdAt,
  });
}

export function saveBulkState(id: string, state: BulkState): Write {
  return writeStanding(standingRow(id, state));
}

function standingRow(id: string, { status, reason, place, counts, endedAt }: BulkState) {
  const { matched, acted, refused } = counts;
  return { id, state: status, reason, place, matched, acted, refused: JSON.stringify(refused), ended_at: endedAt };
}

/** Of what is only shown the tasks that were named are not known. */
export function bulkRunOf(row: Row & { readonly ids?: string | null }, org: Organization): BulkRun {
  return {
    id: row.id,
    org,
    queueId: row.queue_id,
    action: row.action,
    code: row.code,
    about: {
      selector: row.selector,
      ids: row.ids === undefined || row.ids === null ? null : (JSON.parse(row.ids) as string[]),
      until: row.until,
    },
    counted: row.counted,
    owner: { principalId: row.owner_id, type: row.owner_type, name: row.owner_name },
    createdAt: row.created_at,
  };
}

export function bulkStateOf(row: Row): BulkState {
  const counts: Counts = { matched: row.matched, acted: row.acted, refused: JSON.parse(row.refused) as Refusals[] };
  return { status: row.state, reason: row.reason, place: row.place, counts, endedAt: row.ended_at };
}

/** Those that are to go on. */
export function runningBulkRuns(read: Kysely<Schema>): Promise<WholeRow[]> {
  return read.selectFrom('task_bulk_runs').selectAll().where('state', '=', 'running').orderBy('id').execute();
}

export function findBulkRun(read: Kysely<Schema>, orgId: string, id: string): Promise<Row | undefined> {
  return read
    .selectFrom('task_bulk_runs')
    .select(SHOWN)
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
}

/** The newest first. @param queueId Only those of this queue; undefined: all. */
export function newestBulkRuns(
  read: Kysely<Schema>,
  orgId: string,
  { queueId, limit }: { readonly queueId: string | undefined; readonly limit: number },
): Promise<Row[]> {
  let query = read.selectFrom('task_bulk_runs').select(SHOWN).where('org_id', '=', orgId);
  if (queueId !== undefined) query = query.where('queue_id', '=', queueId);
  return query.orderBy('id', 'desc').limit(limit).execute();
}
