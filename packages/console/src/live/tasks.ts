import type { Tasks } from '../api/types.gen.js';
import { attribute, dataOf, type LiveEvent, textIn } from './event.js';

export type ListedTask = Tasks['tasks'][number];
export type TaskStatus = ListedTask['status'];

/** In the order in which they are shown. */
export const TASK_STATUSES = [
  'queued',
  'blocked',
  'held',
  'claimed',
  'running',
  'succeeded',
  'failed',
  'orphaned',
  'cancelled',
  'terminated',
] as const satisfies readonly TaskStatus[];

/** Will not run any more unless somebody says so. */
export const ENDED_STATUSES: ReadonlySet<TaskStatus> = new Set([
  'succeeded',
  'failed',
  'orphaned',
  'cancelled',
  'terminated',
] as const);

export function isTaskStatus(text: string | null): text is TaskStatus {
  return text !== null && (TASK_STATUSES as readonly string[]).includes(text);
}

/**
 * Tasks of a list, and what events make of them. Pure: what comes twice changes nothing, as each event says how its task stands
 * whatever was before. Stale: the list has more than this tells, and is to be read again.
 * @param filtered A task that changes may come into the list, or leave it.
 */
export function applyToTasks<Task extends ListedTask>(
  tasks: readonly Task[],
  events: readonly LiveEvent[],
  filtered: boolean,
): { readonly state: readonly Task[]; readonly stale: boolean } {
  let stale = false;
  const ofTasks = new Map<string, LiveEvent[]>();
  const removed = new Set<string>();
  for (const event of events) {
    const id = attribute(event, 'task');
    if (id === null || !event.type.startsWith('task.')) continue;
    if (event.type === 'task.removed') removed.add(id);
    else ofTasks.set(id, [...(ofTasks.get(id) ?? []), event]);
    // Of those that go together only the first is named; exit codes and counts of failures only the list has.
    if (filtered || event.type === 'task.added' || event.type === 'task.removed' || event.type === 'task.ended')
      stale = true;
  }
  const concerned = tasks.some(({ id }) => ofTasks.has(id) || removed.has(id));
  if (!concerned) return { state: tasks, stale };
  const left = tasks.filter(({ id }) => !removed.has(id));
  return { state: left.map((task) => (ofTasks.get(task.id) ?? []).reduce(step, task)), stale };
}

const WAITS_ANEW = { cancelling: false, started: null, ended: null };

function step<Task extends ListedTask>(task: Task, event: LiveEvent): Task {
  const mtime = new Date(event.at).toISOString();
  const attempt = Number(attribute(event, 'attempt') ?? task.attempt);
  const node = attribute(event, 'node');
  switch (event.type) {
    case 'task.claimed':
      return { ...task, ...WAITS_ANEW, mtime, attempt, node, status: 'claimed', reason: null, not_before: null };
    case 'task.running':
      return { ...task, mtime, attempt, node, status: 'running', started: mtime };
    case 'task.cancelling':
      return { ...task, mtime, cancelling: true, reason: textIn(dataOf(event), 'reason') };
    case 'task.ended':
    case 'task.waiting': {
      const status = attribute(event, 'status');
      if (!isTaskStatus(status)) return task;
      const data = dataOf(event);
      const { not_before: notBefore } = data;
      const stands = {
        ...{ mtime, attempt, status, code: Number(attribute(event, 'code') ?? task.code) },
        reason: textIn(data, 'reason'),
        not_before: typeof notBefore === 'number' ? new Date(notBefore).toISOString() : null,
      };
      if (event.type === 'task.waiting') return { ...task, ...WAITS_ANEW, ...stands, node: null };
      return { ...task, ...stands, cancelling: false, ended: mtime, node: textIn(data, 'node') };
    }
    default:
      return task;
  }
}
