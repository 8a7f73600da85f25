import { insert, type Schema, update, upsert, type Write } from '@muster/store';
import type { Selectable } from 'kysely';

export type QueueRow = Selectable<Schema['task_queues']>;
export type TaskRow = Selectable<Schema['tasks']>;
export type AttemptRow = Selectable<Schema['task_attempts']>;

/** Hot statements; what is rare is plain SQL where it happens. */

export const saveQueue: (row: QueueRow) => Write = upsert(
  'task_queues',
  {
    id: 'text',
    org_id: 'text',
    name: 'text',
    plugin: 'text',
    state: 'text',
    rules: 'text',
    threads: 'integer',
    created_at: 'integer',
    updated_at: 'integer',
  },
  ['id'],
);

/** A new task: what never changes of it, and how it begins. */
export const addTask: (
  row: Pick<
    TaskRow,
    | 'id'
    | 'org_id'
    | 'queue_id'
    | 'params'
    | 'options'
    | 'lane'
    | 'requester'
    | 'ctime'
    | 'mtime'
    | 'status'
    | 'rank'
    | 'not_before'
    | 'expires_at'
    | 'waits_for'
  >,
) => Write = insert(
  'tasks',
  {
    id: 'text',
    org_id: 'text',
    queue_id: 'text',
    params: 'text',
    options: 'text',
    lane: 'text',
    requester: 'text',
    ctime: 'integer',
    mtime: 'integer',
    status: 'integer',
    rank: 'integer',
    not_before: 'integer',
    expires_at: 'integer',
    waits_for: 'integer',
  },
  ['id'],
);

/** What of a task changes while it is assigned and runs. One statement for every transition: within a commit the last one counts. */
export type TaskStanding = Pick<
  TaskRow,
  | 'id'
  | 'status'
  | 'node'
  | 'incarnation'
  | 'attempt'
  | 'failures'
  | 'orphanings'
  | 'not_before'
  | 'waits_for'
  | 'cancelling'
  | 'reason'
  | 'mtime'
  | 'started_at'
  | 'ended_at'
  | 'exit_code'
  | 'signal'
  | 'stdout'
  | 'stderr'
  | 'stdout_bytes'
  | 'stderr_bytes'
  | 'complete'
>;

export const saveTask: (row: TaskStanding) => Write = update(
  'tasks',
  {
    id: 'text',
    status: 'integer',
    node: 'text',
    incarnation: 'text',
    attempt: 'integer',
    failures: 'integer',
    orphanings: 'integer',
    not_before: 'integer',
    waits_for: 'integer',
    cancelling: 'integer',
    reason: 'text',
    mtime: 'integer',
    started_at: 'integer',
    ended_at: 'integer',
    exit_code: 'integer',
    signal: 'text',
    stdout: 'text',
    stderr: 'text',
    stdout_bytes: 'integer',
    stderr_bytes: 'integer',
    complete: 'integer',
  },
  ['id'],
);

/**
 * The two transitions of which there are most, as few columns as they change: a task that no node had before is given to one, and
 * one that a node has succeeds. Whoever writes more of the same task in one commit writes that later, by `saveTask`.
 */
export const saveFirstClaim: (
  row: Pick<TaskStanding, 'id' | 'status' | 'node' | 'incarnation' | 'attempt' | 'mtime'>,
) => Write = update(
  'tasks',
  { id: 'text', status: 'integer', node: 'text', incarnation: 'text', attempt: 'integer', mtime: 'integer' },
  ['id'],
  { first: true },
);

export const saveSuccess: (
  row: Pick<
    TaskStanding,
    'id' | 'status' | 'mtime' | 'started_at' | 'ended_at' | 'exit_code' | 'stdout' | 'stderr' | 'complete'
  >,
) => Write = update(
  'tasks',
  {
    id: 'text',
    status: 'integer',
    mtime: 'integer',
    started_at: 'integer',
    ended_at: 'integer',
    exit_code: 'integer',
    stdout: 'text',
    stderr: 'text',
    complete: 'integer',
  },
  ['id'],
  { first: true },
);

export const saveAttempt: (row: AttemptRow) => Write = upsert(
  'task_attempts',
  {
    task_id: 'text',
    attempt: 'integer',
    node: 'text',
    status: 'integer',
    reason: 'text',
    started_at: 'integer',
    ended_at: 'integer',
    exit_code: 'integer',
    signal: 'text',
    stdout: 'text',
    stderr: 'text',
    stdout_bytes: 'integer',
    stderr_bytes: 'integer',
  },
  ['task_id', 'attempt'],
);

export const addDependency: (row: { task_id: string; after_id: string }) => Write = insert(
  'task_dependencies',
  { task_id: 'text', after_id: 'text' },
  ['task_id', 'after_id'],
);

export const saveTaskNode: (row: Selectable<Schema['task_nodes']>) => Write = upsert(
  'task_nodes',
  { org_id: 'text', node: 'text', id: 'text', maxthreads: 'integer', seen_at: 'integer' },
  ['org_id', 'node'],
);
