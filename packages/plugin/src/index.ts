/**
 * What the author of a module plugin needs: types only. A plugin is a file that exports a function `run`:
 *
 *     import type { RunTask } from '@muster/plugin';
 *
 *     export const run: RunTask<{ file: string }> = async (task, { signal, log, progress }) => {
 *       log(`resizing ${task.params.file}`);
 *       await resize(task.params.file, signal);
 *       progress(1, 'done');
 *     };
 *
 * Everything that goes in and out is what JSON can say: it crosses the border of a process.
 */

/** A value of JSON. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** A piece of work. */
export interface Task<Params = { readonly [name: string]: JsonValue }> {
  readonly id: string;
  /** Which run of it this is, from 1. */
  readonly attempt: number;
  readonly queue: { readonly id: string; readonly name: string };
  /** Name of the node that runs it. */
  readonly node: string;
  /** As they were given when it was added. Nobody has compared them with `Params`: check what you rely on. */
  readonly params: Params;
  /** When it was added, and when this run was assigned: milliseconds since the epoch. */
  readonly ctime: number;
  readonly mtime: number;
  /** Values of the secrets that its queue and the task name, by the names it is to find them as; absent: there are none. */
  readonly secrets?: { readonly [name: string]: string };
}

/** What a plugin is given besides its task. */
export interface TaskContext {
  /**
   * Aborted when the task is cancelled or its time is over; `signal.reason` says which. A plugin that does not end then
   * is ended with its process after the grace.
   */
  readonly signal: AbortSignal;
  /** Adds a line to the output of the task at once; `stdout` unless said. */
  readonly log: (line: string, stream?: 'stdout' | 'stderr') => void;
  /** Tells how far it is, from 0 to 1, and with what. Only the latest is kept. */
  readonly progress: (fraction: number, text?: string) => void;
}

/** How a task ended. Nothing at all is success. */
export interface TaskOutcome {
  /** A whole number above 0: 1 succeeded (unless said), 2 failed, others as the plugin likes; they count as failed. */
  readonly status?: number;
  /** Added behind what was logged. */
  readonly stdout?: string | null;
  readonly stderr?: string | null;
  /** It failed for now, and is to be run again, within the limits of its queue. */
  readonly retry?: boolean;
}

/**
 * Runs one task. An error that is thrown fails it: the message is the reason, the stack is added to stderr. If the error
 * has a property `retry: true`, the task is run again, within the limits of its queue.
 */
export type RunTask<Params = { readonly [name: string]: JsonValue }> = (
  task: Task<Params>,
  context: TaskContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a plugin, too
) => Promise<TaskOutcome | void> | TaskOutcome | void;
