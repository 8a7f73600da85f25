import { attributesOf, parseSelector, SelectorError } from '@muster/selector';
import type { TaskStatus } from '../live/tasks.js';

export const TASK_ACTIONS = ['retry', 'cancel', 'hold', 'release', 'remove'] as const;
export type TaskAction = (typeof TASK_ACTIONS)[number];

interface About {
  /** On a button. */
  readonly word: string;
  /** What is being done: `Retrying`. */
  readonly doing: string;
  /** What was done to so many: `queued again`. */
  readonly done: string;
  /** As the command line calls it. */
  readonly command: string;
  /** Of what status a task is that it can be done to. */
  readonly of: readonly TaskStatus[];
  /** What else is to be known before it is done. */
  readonly warning: string | null;
}

const ENDED = ['failed', 'orphaned', 'cancelled', 'terminated'] as const;

export const ACTIONS: Readonly<Record<TaskAction, About>> = {
  retry: {
    ...{ word: 'Retry', doing: 'Retrying', done: 'queued again', command: 'retry', of: [...ENDED, 'succeeded'] },
    warning: null,
  },
  cancel: {
    ...{ word: 'Cancel', doing: 'Cancelling', done: 'cancelled', command: 'cancel' },
    of: ['queued', 'blocked', 'held', 'claimed', 'running'],
    warning: 'What runs is ended on its node, with all its processes.',
  },
  hold: {
    ...{ word: 'Hold', doing: 'Holding', done: 'held', command: 'hold', of: ['queued', 'blocked'] },
    warning: 'They wait until somebody releases them.',
  },
  release: {
    ...{ word: 'Release', doing: 'Releasing', done: 'released', command: 'release', of: ['held'] },
    warning: null,
  },
  remove: {
    ...{ word: 'Delete', doing: 'Deleting', done: 'deleted', command: 'rm' },
    of: ['queued', 'blocked', 'held', 'succeeded', ...ENDED],
    warning: 'They are gone with their output, and cannot be brought back.',
  },
};

/** Selector of tasks: of these statuses and like this; '': all. */
export function selectorOf(statuses: readonly string[], q: string): string {
  const parts: string[] = [];
  const [status, ...more] = statuses;
  if (status !== undefined)
    parts.push(
      more.length === 0 ? `status:${status}` : `status IN (${statuses.map((each) => `'${each}'`).join(', ')})`,
    );
  if (q.trim() !== '') parts.push(parts.length === 0 ? q.trim() : `(${q.trim()})`);
  return parts.join(' AND ');
}

/**
 * Tasks that the action is meant for when it is done to all that match; null: it can be done to none of them. What has succeeded is run
 * again only where somebody says so.
 */
export function whereFor(action: TaskAction, chosen: readonly TaskStatus[], q: string): string | null {
  if (chosen.length === 0 && speaksOfStatus(q)) return q.trim();
  const statuses = statusesFor(action, chosen);
  return statuses.length === 0 ? null : selectorOf(statuses, q);
}

/** Of which statuses a task is that the action is done to when it is done to all. */
function statusesFor(action: TaskAction, chosen: readonly TaskStatus[]): readonly TaskStatus[] {
  const of = chosen.length === 0 && action === 'retry' ? ENDED : ACTIONS[action].of;
  return of.filter((status) => chosen.length === 0 || chosen.includes(status));
}

/** To how many of a queue it can be done, of these statuses. */
export function countFor(
  action: TaskAction,
  chosen: readonly TaskStatus[],
  counts: Readonly<Record<TaskStatus, number>>,
): number {
  return statusesFor(action, chosen).reduce((sum, status) => sum + counts[status], 0);
}

/** Said where an action can be done to none. */
export function noneFor(action: TaskAction): string {
  const { of, done } = ACTIONS[action];
  return `None of these tasks can be ${done} now: none is ${of.slice(0, -1).join(', ')}${of.length > 1 ? ' or ' : ''}${of.at(-1)}.`;
}

function speaksOfStatus(q: string): boolean {
  try {
    const names = attributesOf(parseSelector(q, { sugar: true }));
    return names.has('status') || names.has('code');
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}
