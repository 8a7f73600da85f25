import { isActive, isWaiting, refusalOf, STATUS, type Wanted } from './status.js';

/** How a task stands: what changes of it (design, "Task Lifecycle"; T2 to T7). */
export interface TaskState {
  readonly status: number;
  /** Where it runs, or ran last; null while it waits. */
  readonly node: string | null;
  /** Number of the latest assignment; 0 before the first. What an older one reports changes nothing. */
  readonly attempt: number;
  /** Runs that failed since it was added, or was last retried by a person. */
  readonly failures: number;
  /** How often it was queued again because its node was lost. */
  readonly orphanings: number;
  /** Waits for this time, in milliseconds; only while queued. */
  readonly notBefore: number | null;
  /** Other tasks that must succeed first. */
  readonly waitsFor: number;
  /** Somebody wants it ended, and its node has not answered yet. */
  readonly cancelling: boolean;
  /** Why it stands as it does, where there is something to say. */
  readonly reason: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export interface TaskRulesNow {
  readonly retries: number;
  /** Seconds. */
  readonly backoff: { readonly first: number; readonly longest: number };
  readonly orphanRetries: number;
}

/** How a run ended. */
export interface RunResult {
  readonly status: number;
  readonly retry: boolean;
  readonly reason: string | null;
  readonly durationMs: number;
}

export type TaskEvent =
  // The scheduler.
  | { readonly type: 'assign'; readonly node: string }
  | { readonly type: 'due' }
  | { readonly type: 'expired' }
  /** So many of the tasks that must come before it have not succeeded. */
  | { readonly type: 'counted'; readonly waitsFor: number }
  // Its node, of the present attempt.
  | { readonly type: 'started' }
  | { readonly type: 'finished'; readonly result: RunResult }
  | { readonly type: 'returned'; readonly reason: string }
  | { readonly type: 'cancelled'; readonly forced: boolean }
  /** Its node is gone, or came back without it. */
  | { readonly type: 'lost'; readonly reason: string }
  // People.
  | { readonly type: 'cancel'; readonly reason: string }
  | { readonly type: 'hold'; readonly code: number; readonly reason: string }
  | { readonly type: 'release' }
  | { readonly type: 'retry' };

export type TaskEffect =
  /** It may be assigned. */
  | 'offer'
  /** It waits for a time. */
  | 'wait'
  /** Its node is told to run it. */
  | 'run'
  /** Its node is told to end it. */
  | 'kill'
  /** Its node may forget the attempt, which is kept in the history when the task goes on. */
  | 'settle'
  /** It succeeded, or is to run again: those that wait for it are to be counted anew. */
  | 'recount';

export interface TaskStep {
  readonly task: TaskState;
  readonly effects: readonly TaskEffect[];
}

/** Why a person may not do this now. */
export interface Refused {
  readonly refused: string;
}

const NONE: readonly TaskEffect[] = [];

export const NEW_TASK: TaskState = {
  status: STATUS.queued,
  node: null,
  attempt: 0,
  failures: 0,
  orphanings: 0,
  notBefore: null,
  waitsFor: 0,
  cancelling: false,
  reason: null,
  startedAt: null,
  endedAt: null,
};

/** How a task begins that waits for a time, or for so many others. */
export function newTask({ notBefore, waitsFor }: Pick<TaskState, 'notBefore' | 'waitsFor'>): TaskState {
  return { ...NEW_TASK, notBefore, waitsFor, status: waitsFor > 0 ? STATUS.blocked : STATUS.queued };
}

/**
 * One step. Events of a node are those of the present attempt: others do not come here. An event that means nothing
 * in a state changes nothing; only a person is told why.
 */
export function stepTask(task: TaskState, event: TaskEvent, rules: TaskRulesNow, now: number): TaskStep | Refused {
  const refused = isAction(event.type) ? refusalOf(event.type, task.status) : null;
  if (refused !== null) return { refused };
  switch (event.type) {
    case 'assign':
      if (!isReady(task)) return stay(task);
      return {
        task: { ...waiting(task), status: STATUS.claimed, node: event.node, attempt: task.attempt + 1 },
        effects: ['run'],
      };

    case 'due':
      if (task.status !== STATUS.queued || task.notBefore === null) return stay(task);
      return { task: { ...task, notBefore: null, reason: null }, effects: ['offer'] };

    case 'expired':
      return isWaiting(task.status) ? ended(task, STATUS.cancelled, lateness(task), now) : stay(task);

    case 'counted': {
      const { waitsFor } = event;
      if (waitsFor === task.waitsFor) return stay(task);
      const counted = { ...task, waitsFor };
      if (task.status === STATUS.blocked && waitsFor === 0) return queued(counted, task.notBefore);
      return {
        task: task.status === STATUS.queued && waitsFor > 0 ? { ...counted, status: STATUS.blocked } : counted,
        effects: NONE,
      };
    }

    case 'started':
      if (task.status !== STATUS.claimed) return stay(task);
      return { task: { ...task, status: STATUS.running, startedAt: now }, effects: NONE };

    case 'finished':
      return isActive(task.status) ? finish(task, event.result, rules, now) : stay(task);

    case 'returned':
      if (task.status !== STATUS.claimed) return stay(task);
      if (task.cancelling) return ended(task, STATUS.cancelled, task.reason, now, 'settle');
      return queued({ ...task, reason: event.reason }, null, 'settle');

    case 'cancelled':
      if (!isActive(task.status)) return stay(task);
      return ended(task, event.forced ? STATUS.terminated : STATUS.cancelled, task.reason, now, 'settle');

    case 'lost':
      if (!isActive(task.status)) return stay(task);
      // Whoever wanted it to end does not want it to run again.
      if (task.cancelling || task.orphanings >= rules.orphanRetries) {
        return ended(task, STATUS.orphaned, event.reason, now, 'settle');
      }
      return queued({ ...task, orphanings: task.orphanings + 1, reason: event.reason }, null, 'settle');

    case 'cancel':
      if (isActive(task.status)) {
        // Once more, if it was asked for before: the first word may be lost.
        return { task: { ...task, cancelling: true, reason: event.reason }, effects: ['kill'] };
      }
      return ended(task, STATUS.cancelled, event.reason, now);

    case 'hold':
      return { task: { ...task, status: event.code, reason: event.reason }, effects: NONE };

    case 'release':
      return queued({ ...task, reason: null }, task.notBefore);

    case 'retry': {
      const anew = { ...task, failures: 0, orphanings: 0, reason: null };
      return queued(anew, null, ...(task.status === STATUS.succeeded ? (['recount'] as const) : []));
    }
  }
}

function isAction(type: TaskEvent['type']): type is TaskEvent['type'] & Wanted {
  return type === 'cancel' || type === 'hold' || type === 'release' || type === 'retry';
}

/** It may be assigned now. */
export function isReady({ status, notBefore }: Pick<TaskState, 'status' | 'notBefore'>): boolean {
  return status === STATUS.queued && notBefore === null;
}

function stay(task: TaskState): TaskStep {
  return { task, effects: NONE };
}

/** Nothing of a run that was. */
function waiting(task: TaskState): TaskState {
  return { ...task, node: null, cancelling: false, startedAt: null, endedAt: null, reason: null };
}

function queued(task: TaskState, notBefore: number | null, ...effects: TaskEffect[]): TaskStep {
  const blocked = task.waitsFor > 0;
  const next: TaskEffect[] = blocked ? [] : [notBefore === null ? 'offer' : 'wait'];
  return {
    task: { ...waiting(task), reason: task.reason, notBefore, status: blocked ? STATUS.blocked : STATUS.queued },
    effects: [...effects, ...next],
  };
}

function ended(
  task: TaskState,
  status: number,
  reason: string | null,
  now: number,
  ...effects: TaskEffect[]
): TaskStep {
  return { task: { ...task, status, reason, cancelling: false, notBefore: null, endedAt: now }, effects };
}

function finish(task: TaskState, result: RunResult, rules: TaskRulesNow, now: number): TaskStep {
  const startedAt = task.startedAt ?? now - result.durationMs;
  const over = { ...task, startedAt };
  if (result.status === STATUS.succeeded) return ended(over, result.status, result.reason, now, 'settle', 'recount');
  // It had ended before it was killed: what it says counts, but nobody wants it again.
  const failures = task.failures + 1;
  if (task.cancelling || failures > retriesOf(result, rules)) {
    return ended({ ...over, failures }, result.status, result.reason, now, 'settle');
  }
  const wait = Math.min(rules.backoff.first * 2 ** (failures - 1), rules.backoff.longest);
  return queued({ ...over, failures, reason: result.reason }, now + Math.round(wait * 1000), 'settle');
}

/** A plugin that asks to be run again is, also where the queue says nothing of retries. */
function retriesOf({ retry }: RunResult, { retries }: TaskRulesNow): number {
  return retry ? Math.max(retries, ASKED_RETRIES) : retries;
}

/** How often a plugin that asks for it is run again. */
const ASKED_RETRIES = 10;

function lateness({ failures, orphanings }: TaskState): string {
  return failures + orphanings === 0 ? 'it had not begun in time' : 'it was too late to run it again';
}
