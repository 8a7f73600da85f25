import type { TaskStatus } from '../queue/api.js';

/** Shapes of the API's answers about tasks that the CLI reads. */

/** A task of a list. */
export interface Task {
  readonly id: string;
  readonly queue: string | null;
  readonly queue_id: string;
  readonly plugin: string | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly status: TaskStatus;
  readonly code: number;
  readonly node: string | null;
  readonly attempt: number;
  readonly failures: number;
  readonly orphanings: number;
  readonly priority: number;
  readonly key: string | null;
  readonly requester: string;
  readonly reason: string | null;
  readonly cancelling: boolean;
  readonly waits_for: number;
  readonly not_before: string | null;
  readonly expires_at: string | null;
  readonly ctime: string;
  readonly mtime: string;
  readonly started: string | null;
  readonly ended: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly complete: boolean | null;
}

/** A single task. */
export interface TaskDetail extends Task {
  readonly after: readonly string[];
  readonly progress: { readonly fraction: number; readonly text: string } | null;
  readonly why: readonly string[];
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  readonly next: string | null;
}

export interface Attempt {
  readonly attempt: number;
  readonly node: string | null;
  readonly status: TaskStatus;
  readonly reason: string | null;
  readonly started: string | null;
  readonly ended: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

/** What became of tasks that were acted on. */
export interface ActionsAnswer {
  readonly matched: number;
  readonly acted: number;
  readonly refused: readonly { readonly reason: string; readonly tasks: number; readonly first: string }[];
  /** Of the tasks that a selector found. */
  readonly last: string | null;
  readonly next: string | null;
}

export interface AddedTask {
  readonly id: string;
  readonly created: boolean;
}

const ENDS: ReadonlySet<TaskStatus> = new Set(['succeeded', 'failed', 'orphaned', 'cancelled', 'terminated']);

/** It will not run any more unless somebody says so. */
export function hasEnded({ status }: Pick<Task, 'status'>): boolean {
  return ENDS.has(status);
}

export function isOnNode({ status }: Pick<Task, 'status'>): boolean {
  return status === 'claimed' || status === 'running';
}

/** What the server does to many tasks. */
export interface BulkAnswer {
  readonly id: string;
  readonly action: string;
  readonly where: string | null;
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  readonly reason: string | null;
  readonly by: string;
  readonly counted: number | null;
  readonly matched: number;
  readonly acted: number;
  readonly refused: ActionsAnswer['refused'];
  readonly created_at: string;
  readonly ended_at: string | null;
}
