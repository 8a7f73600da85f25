import { type Members, membersWritten } from '@muster/platform/auth';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { isId } from '../ids.js';
import { STATUS } from '../status.js';
import type { QueueRules } from '../types.js';
import type { AttemptRow, QueueRow, TaskRow } from './writes.js';

type Read = Kysely<Schema>;

/** Statuses of one queue that are looked for; a queue with more has made up codes of its own. */
const MOST_STATUSES = 64;

/** A queue of this organization, by its id or its name; that of another one does not exist. */
export async function findQueue(read: Read, orgId: string, idOrName: string): Promise<QueueRow | undefined> {
  // PostgreSQL takes no NUL, and no queue has one in its name.
  if (idOrName.includes('\0')) return undefined;
  const rows = await read
    .selectFrom('task_queues')
    .selectAll()
    .where('org_id', '=', orgId)
    .where((eb) => eb.or([eb('name', '=', idOrName), eb('id', '=', idOrName)]))
    .limit(2)
    .execute();
  // A name may look like an id: then the id counts.
  return rows.find(({ id }) => id === idOrName) ?? rows[0];
}

/** When the task was added that has waited longest, by the id of its queue; of one queue, or of all. */
export async function oldestWaiting(
  read: Read,
  orgId: string,
  queueId: string | null,
): Promise<ReadonlyMap<string, number>> {
  let queues = read.selectFrom('task_queues').where('org_id', '=', orgId);
  if (queueId !== null) queues = queues.where('id', '=', queueId);
  // One step of the index for each queue.
  const first = queues.select((queue) => [
    'id',
    queue
      .selectFrom('tasks')
      .select((task) => task.fn.min<string | null>('tasks.id').as('task'))
      .whereRef('tasks.queue_id', '=', 'task_queues.id')
      .where('tasks.status', '=', STATUS.queued)
      .as('task'),
  ]);
  const rows = await read
    .selectFrom(first.as('first'))
    .innerJoin('tasks', 'tasks.id', 'first.task')
    .select(['first.id', 'tasks.ctime'])
    .execute();
  return new Map(rows.map(({ id, ctime }) => [id, ctime]));
}

/** Tasks of a queue that was deleted go little by little; for who looks they are gone. */
export const goingQueues = (read: Read) => read.selectFrom('deleted_task_queues').select('queue_id');

/** Tasks of this organization; those of another one do not exist. */
function tasksOf(read: Read, orgId: string, ids: readonly string[]) {
  return read
    .selectFrom('tasks')
    .where('id', 'in', ids)
    .where('org_id', '=', orgId)
    .where('queue_id', 'not in', goingQueues(read));
}

export async function findTask(read: Read, orgId: string, id: string): Promise<TaskRow | undefined> {
  if (!isId(id)) return undefined;
  return tasksOf(read, orgId, [id]).selectAll().executeTakeFirst();
}

/** With their output; in no order. */
export async function wholeTasks(read: Read, orgId: string, ids: readonly string[]): Promise<TaskRow[]> {
  return ids.length === 0 ? [] : tasksOf(read, orgId, ids).selectAll().execute();
}

/** Rows of tasks of this organization, without their output; those that are not there are left out. */
export type ListedTask = Omit<TaskRow, 'stdout' | 'stderr' | 'incarnation'>;

const LISTED = [
  'id',
  'org_id',
  'queue_id',
  'params',
  'options',
  'lane',
  'requester',
  'ctime',
  'status',
  'node',
  'attempt',
  'failures',
  'orphanings',
  'rank',
  'not_before',
  'expires_at',
  'waits_for',
  'cancelling',
  'reason',
  'mtime',
  'started_at',
  'ended_at',
  'exit_code',
  'signal',
  'stdout_bytes',
  'stderr_bytes',
  'complete',
] as const satisfies readonly (keyof ListedTask)[];

/** Without their output; in no order. */
export async function tasksById(read: Read, orgId: string, ids: readonly string[]): Promise<ListedTask[]> {
  return ids.length === 0 ? [] : tasksOf(read, orgId, ids).select(LISTED).execute();
}

/** Tasks of this organization whose id begins so, by id. */
export function tasksBeginning(
  read: Read,
  orgId: string,
  beginning: string,
  limit: number,
): Promise<Pick<TaskRow, 'id' | 'queue_id' | 'status'>[]> {
  return (
    read
      .selectFrom('tasks')
      .select(['id', 'queue_id', 'status'])
      .where('org_id', '=', orgId)
      .where('id', '>=', beginning)
      // What follows the digits.
      .where('id', '<', `${beginning}g`)
      .where('queue_id', 'not in', goingQueues(read))
      .orderBy('id')
      .limit(limit)
      .execute()
  );
}

/** Runs of a task that are over while it went on, by number. */
export function attemptsOf(read: Read, taskId: string, page: { after: number; limit: number }): Promise<AttemptRow[]> {
  return read
    .selectFrom('task_attempts')
    .selectAll()
    .where('task_id', '=', taskId)
    .where('attempt', '>', page.after)
    .orderBy('attempt')
    .limit(page.limit)
    .execute();
}

export function findAttempt(read: Read, taskId: string, attempt: number): Promise<AttemptRow | undefined> {
  return read
    .selectFrom('task_attempts')
    .selectAll()
    .where('task_id', '=', taskId)
    .where('attempt', '=', attempt)
    .executeTakeFirst();
}

/** Ids of the tasks that this one waits for, or waited for. */
export async function dependenciesOf(read: Read, taskId: string): Promise<string[]> {
  const rows = await read
    .selectFrom('task_dependencies')
    .select('after_id')
    .where('task_id', '=', taskId)
    .orderBy('after_id')
    .execute();
  return rows.map(({ after_id }) => after_id);
}

/** Least and greatest status, both inclusive. */
export interface StatusRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Ids of queues that have tasks, of all organizations, also such as were deleted and left theirs. One step of the index
 * for each. Null: there are more than `most`.
 */
export async function queuesWithTasks(read: Read, most: number): Promise<string[] | null> {
  const found: string[] = [];
  for (let after = ''; ; ) {
    const row = await read
      .selectFrom('tasks')
      .select('queue_id')
      .where('queue_id', '>', after)
      .orderBy('queue_id')
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) return found;
    if (found.length === most) return null;
    found.push(row.queue_id);
    after = row.queue_id;
  }
}

/** Statuses that tasks of a queue have, within these ranges, one step of the index for each. Null: there are too many. */
export async function statusesOf(
  read: Read,
  queueId: string,
  ranges: readonly StatusRange[],
): Promise<number[] | null> {
  const found = new Set<number>();
  for (const { from, to } of ranges) {
    for (let after = from - 1; ; ) {
      const row = await read
        .selectFrom('tasks')
        .select('status')
        .where('queue_id', '=', queueId)
        .where('status', '>', after)
        .where('status', '<=', to)
        .orderBy('status')
        .limit(1)
        .executeTakeFirst();
      if (row === undefined) break;
      if (found.size === MOST_STATUSES) return null;
      found.add(row.status);
      after = row.status;
    }
  }
  return [...found];
}

/** A place in the order of ids, and which way it is read. */
export interface IdPage {
  /** Exclusive; null: from the beginning. */
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

/** Ids of tasks of one queue with one status, in the order of the index. */
export async function idsOfStatus(read: Read, queueId: string, status: number, page: IdPage): Promise<string[]> {
  let query = read.selectFrom('tasks').select('id').where('queue_id', '=', queueId).where('status', '=', status);
  if (page.after !== null) query = query.where('id', page.order === 'asc' ? '>' : '<', page.after);
  const rows = await query.orderBy('id', page.order).limit(page.limit).execute();
  return rows.map(({ id }) => id);
}

/** Ids of all tasks of all organizations, in the order of the primary key. */
export async function allIds(read: Read, page: IdPage): Promise<string[]> {
  let query = read.selectFrom('tasks').select('id');
  if (page.after !== null) query = query.where('id', page.order === 'asc' ? '>' : '<', page.after);
  const rows = await query.orderBy('id', page.order).limit(page.limit).execute();
  return rows.map(({ id }) => id);
}

/** Who may look at a queue (`readers`, and those who may write), and who may add and change its tasks. */
export type Admission = 'readers' | 'writers';

/** The members that a queue names itself. */
export async function admittedToQueue(
  read: Read,
  orgId: string,
  idOrName: string,
  as: Admission,
): Promise<Members | undefined> {
  const queue = await findQueue(read, orgId, idOrName);
  return queue && membersOf(JSON.parse(queue.rules) as QueueRules, as);
}

/** The same of the queue of a task. */
export async function admittedToTask(
  read: Read,
  orgId: string,
  taskId: string,
  as: Admission,
): Promise<Members | undefined> {
  if (!isId(taskId)) return undefined;
  const row = await read
    .selectFrom('tasks')
    .innerJoin('task_queues', 'task_queues.id', 'tasks.queue_id')
    .select('task_queues.rules')
    .where('tasks.id', '=', taskId)
    .where('tasks.org_id', '=', orgId)
    .executeTakeFirst();
  return row && membersOf(JSON.parse(row.rules) as QueueRules, as);
}

function membersOf({ readers = [], writers = [] }: Partial<QueueRules>, as: Admission): Members {
  return membersWritten(as === 'readers' ? [...readers, ...writers] : writers);
}
