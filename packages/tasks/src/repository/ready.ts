import type { Schema } from '@muster/store';
import { type Kysely, sql } from 'kysely';
import { TASK_LIMITS } from '../limits.js';
import type { TaskState } from '../machine.js';
import type { Place, ReadyTask } from '../queues/lane.js';
import { STATUS } from '../status.js';
import type { QueueSort, TaskOptions } from '../types.js';
import type { TaskRow } from './writes.js';

type Read = Kysely<Schema>;

const STATE_COLUMNS = [
  'status',
  'node',
  'attempt',
  'failures',
  'orphanings',
  'not_before',
  'waits_for',
  'cancelling',
  'reason',
  'started_at',
  'ended_at',
] as const;

/** Columns of which a `ReadyTask` is made; its parameters only while they are short. */
const COLUMNS = [
  'id',
  'queue_id',
  'rank',
  'lane',
  'ctime',
  'mtime',
  'requester',
  'expires_at',
  'options',
  'incarnation',
  ...STATE_COLUMNS,
] as const;

export type ReadyRow = Pick<TaskRow, (typeof COLUMNS)[number]> & { readonly params: string | null };

/** What the last run left behind. */
const ENDING = ['exit_code', 'signal', 'stdout', 'stderr', 'stdout_bytes', 'stderr_bytes', 'complete'] as const;

/** A task that may have ended, with all that a change of it writes. */
export type StandingRow = ReadyRow & Pick<TaskRow, (typeof ENDING)[number]>;

export function endingOf(row: StandingRow): Pick<TaskRow, (typeof ENDING)[number]> {
  const { exit_code, signal, stdout, stderr, stdout_bytes, stderr_bytes, complete } = row;
  return { exit_code, signal, stdout, stderr, stdout_bytes, stderr_bytes, complete };
}

function selectReady(read: Read) {
  return read
    .selectFrom('tasks')
    .select(COLUMNS)
    .select(
      sql<string | null>`case when length(params) <= ${sql.lit(TASK_LIMITS.paramsInMemory)} then params end`.as(
        'params',
      ),
    );
}

export function stateOf(row: Pick<TaskRow, (typeof STATE_COLUMNS)[number]>): TaskState {
  return {
    status: row.status,
    node: row.node,
    attempt: row.attempt,
    failures: row.failures,
    orphanings: row.orphanings,
    notBefore: row.not_before,
    waitsFor: row.waits_for,
    cancelling: row.cancelling === 1,
    reason: row.reason,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  };
}

export function readyTask(row: ReadyRow): ReadyTask {
  const options = row.options === null ? {} : (JSON.parse(row.options) as Partial<TaskOptions>);
  return {
    id: row.id,
    rank: row.rank,
    lane: row.lane,
    ctime: row.ctime,
    requester: row.requester,
    state: stateOf(row),
    params: row.params,
    retries: options.retries ?? null,
    timeout: options.timeout ?? null,
    expiresAt: row.expires_at,
    secrets: options.secrets ? Object.keys(options.secrets.named) : null,
  };
}

/** The next tasks of a lane that may be assigned, behind this place. */
export async function readReady(
  read: Read,
  of: { readonly queueId: string; readonly lane: string; readonly sort: QueueSort },
  after: Place | null,
  limit: number,
): Promise<ReadyTask[]> {
  const ready = () =>
    selectReady(read)
      .where('queue_id', '=', of.queueId)
      .where('lane', '=', of.lane)
      .where('status', '=', STATUS.queued)
      .where('not_before', 'is', null);
  if (of.sort !== 'lifo') {
    let query = ready();
    if (after !== null) {
      query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('rank', 'id'), '>', tuple(after.rank, after.id)));
    }
    const rows = await query.orderBy('rank').orderBy('id').limit(limit).execute();
    return rows.map(readyTask);
  }
  // The index goes up by rank and id: those of one rank are read backwards, then those of the next.
  const tasks: ReadyTask[] = [];
  let place = after;
  for (;;) {
    const rank = place?.rank ?? (await leastRank(read, of, null));
    if (rank === null) return tasks;
    let query = ready().where('rank', '=', rank);
    if (place !== null) query = query.where('id', '<', place.id);
    const rows = await query
      .orderBy('id', 'desc')
      .limit(limit - tasks.length)
      .execute();
    tasks.push(...rows.map(readyTask));
    if (tasks.length >= limit) return tasks;
    const next = await leastRank(read, of, rank);
    if (next === null) return tasks;
    place = { rank: next, id: AFTER_ALL };
  }
}

/** Greater than any id. */
const AFTER_ALL = 'g';

async function leastRank(
  read: Read,
  of: { readonly queueId: string; readonly lane: string },
  above: number | null,
): Promise<number | null> {
  let query = read
    .selectFrom('tasks')
    .select('rank')
    .where('queue_id', '=', of.queueId)
    .where('lane', '=', of.lane)
    .where('status', '=', STATUS.queued)
    .where('not_before', 'is', null);
  if (above !== null) query = query.where('rank', '>', above);
  return (await query.orderBy('rank').limit(1).executeTakeFirst())?.rank ?? null;
}

/** Which lanes have tasks that may be assigned, of queues that have keys. */
export function readyLanes(read: Read, queueId: string): Promise<{ lane: string }[]> {
  return read
    .selectFrom('tasks')
    .select('lane')
    .distinct()
    .where('queue_id', '=', queueId)
    .where('status', '=', STATUS.queued)
    .where('not_before', 'is', null)
    .execute();
}

/** Tasks that nodes have, as far as the store knows. */
export function activeTasks(read: Read): Promise<ReadyRow[]> {
  return selectReady(read).where('status', 'in', [STATUS.claimed, STATUS.running]).orderBy('id').execute();
}

/** What is stored of these tasks, also of those whose queue is being deleted. @param orgId Null: of any organization. */
export function standingRows(read: Read, orgId: string | null, ids: readonly string[]): Promise<StandingRow[]> {
  const found = selectReady(read).select(ENDING).where('id', 'in', ids);
  return (orgId === null ? found : found.where('org_id', '=', orgId)).execute();
}

export async function paramsOf(read: Read, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await read.selectFrom('tasks').select(['id', 'params']).where('id', 'in', ids).execute();
  return new Map(rows.map(({ id, params }) => [id, params]));
}

/** Queued tasks whose time has come, and those that had to begin by now. */
export function dueTasks(read: Read, now: number, limit: number): Promise<(ReadyRow & { org_id: string })[]> {
  return selectReady(read)
    .select('org_id')
    .where('status', '=', STATUS.queued)
    .where('not_before', '<=', now)
    .orderBy('not_before')
    .limit(limit)
    .execute();
}

export function expiredTasks(read: Read, now: number, limit: number): Promise<(ReadyRow & { org_id: string })[]> {
  return selectReady(read)
    .select('org_id')
    .where((eb) => eb.or([eb('status', '=', STATUS.queued), eb('status', '=', STATUS.blocked)]))
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

/** When the next task is due or expires; null: none does. */
export async function nextTime(read: Read): Promise<number | null> {
  const due = await read
    .selectFrom('tasks')
    .select((eb) => eb.fn.min<number | null>('not_before').as('at'))
    .where('status', '=', STATUS.queued)
    .where('not_before', 'is not', null)
    .executeTakeFirst();
  const expiry = await read
    .selectFrom('tasks')
    .select((eb) => eb.fn.min<number | null>('expires_at').as('at'))
    .where((eb) => eb.or([eb('status', '=', STATUS.queued), eb('status', '=', STATUS.blocked)]))
    .where('expires_at', 'is not', null)
    .executeTakeFirst();
  const times = [due?.at, expiry?.at].filter((at) => at !== null && at !== undefined).map(Number);
  return times.length === 0 ? null : Math.min(...times);
}

/** How many tasks each queue has at each status. */
export async function countTasks(read: Read): Promise<{ queueId: string; status: number; tasks: number }[]> {
  const rows = await read
    .selectFrom('tasks')
    .select((eb) => ['queue_id', 'status', eb.fn.countAll<number>().as('tasks')])
    .groupBy(['queue_id', 'status'])
    .execute();
  return rows.map(({ queue_id, status, tasks }) => ({ queueId: queue_id, status, tasks: Number(tasks) }));
}

/** Those of these tasks that wait for others, and for how many. */
export async function countDependencies(read: Read, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await read
    .selectFrom('task_dependencies')
    .leftJoin('tasks', 'tasks.id', 'task_dependencies.after_id')
    .select((eb) => ['task_id', eb.fn.countAll<number>().as('waits')])
    .where('task_id', 'in', ids)
    .where((eb) => eb.or([eb('tasks.status', 'is', null), eb('tasks.status', '<>', STATUS.succeeded)]))
    .groupBy('task_id')
    .execute();
  return new Map(rows.map(({ task_id, waits }) => [task_id, Number(waits)]));
}

/** The first of the tasks that this one still waits for, and how they stand; null: it was deleted. */
export function unsucceededBefore(
  read: Read,
  id: string,
  limit: number,
): Promise<{ id: string; status: number | null }[]> {
  return read
    .selectFrom('task_dependencies')
    .leftJoin('tasks', 'tasks.id', 'task_dependencies.after_id')
    .select(['after_id as id', 'status'])
    .where('task_id', '=', id)
    .where((eb) => eb.or([eb('status', 'is', null), eb('status', '<>', STATUS.succeeded)]))
    .orderBy('after_id')
    .limit(limit)
    .execute();
}

/** Tasks that wait for one of these. */
export function dependentsOf(read: Read, ids: readonly string[]): Promise<{ id: string; org_id: string }[]> {
  return read
    .selectFrom('task_dependencies')
    .innerJoin('tasks', 'tasks.id', 'task_dependencies.task_id')
    .select(['tasks.id', 'tasks.org_id'])
    .distinct()
    .where('after_id', 'in', ids)
    .execute();
}

/** Blocked tasks of a queue behind this one. */
export function blockedTasks(read: Read, queueId: string, after: string, limit: number): Promise<{ id: string }[]> {
  return read
    .selectFrom('tasks')
    .select('id')
    .where('queue_id', '=', queueId)
    .where('status', '=', STATUS.blocked)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function greatestId(read: Read): Promise<string | null> {
  const task = await read.selectFrom('tasks').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  const queue = await read.selectFrom('task_queues').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  const ids = [task?.id, queue?.id].filter((id) => id !== undefined);
  return ids.length === 0 ? null : ids.reduce((a, b) => (a > b ? a : b));
}
