import type { Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import { QUEUE_EVENTS, TASK_EVENTS } from './event-types.js';
import type { TaskState } from './machine.js';
import { isActive, isEnded, STATUS, statusName } from './status.js';
import type { Queue } from './types.js';

/** What queues and tasks tell. All of it has the queue as its subject: its feed shows what happens in it. */

/** The subject of a queue in the event log. */
export function queueSubject(queueId: string): string {
  return `queue/${queueId}`;
}

/** The subject under which output of a task is kept. */
export function taskSubject(taskId: string): string {
  return `task/${taskId}`;
}

type InQueue = { readonly org: Organization; readonly queueId: string };

/** A queue of which many events are told: their subject is made once. */
interface Teller {
  readonly org: Organization;
  readonly id: string;
  readonly subject: string;
}

/** A task stands otherwise than before; null: nobody needs to hear of it. */
export function taskChanged(
  { org, id: queue, subject }: Teller,
  task: string,
  before: TaskState,
  after: TaskState,
): Recordable | null {
  const { status, attempt, node, reason } = after;
  if (status === before.status) {
    if (!after.cancelling || before.cancelling) return null;
    return TASK_EVENTS.tell('task.cancelling', org, { queue, task, attempt }, { reason }, subject);
  }
  if (isActive(status)) {
    const type = status === STATUS.claimed ? 'task.claimed' : 'task.running';
    return TASK_EVENTS.tell(type, org, { queue, task, node: node ?? '', attempt }, {}, subject);
  }
  const standing = { queue, task, status: statusName(status), code: status, attempt };
  if (isEnded(status)) return TASK_EVENTS.tell('task.ended', org, standing, { node, reason }, subject);
  return TASK_EVENTS.tell('task.waiting', org, standing, { reason, not_before: after.notBefore }, subject);
}

export function tasksAdded({ org, queueId }: InQueue, ids: readonly string[], by: string): Recordable {
  const [first = ''] = ids;
  const about = { queue: queueId, task: first, count: ids.length, by };
  return TASK_EVENTS.tell('task.added', org, about, { last: ids.at(-1) ?? first }, queueSubject(queueId));
}

export function tasksRemoved({ org, queueId }: InQueue, ids: readonly string[]): Recordable {
  const about = { queue: queueId, task: ids[0] ?? '', count: ids.length };
  return TASK_EVENTS.tell('task.removed', org, about, {}, queueSubject(queueId));
}

export function queueCreated(org: Organization, { id, name, plugin, threads }: Queue, by: string): Recordable {
  return QUEUE_EVENTS.tell('queue.created', org, { queue: id, name, by }, { plugin, threads }, queueSubject(id));
}

export function queueChanged(org: Organization, queue: Queue, changed: readonly string[], by: string): Recordable {
  const { id, name, state } = queue;
  const about = { queue: id, name, by, state };
  return QUEUE_EVENTS.tell('queue.changed', org, about, { changed: [...changed] }, queueSubject(id));
}

export function queueRemoved(org: Organization, { id, name }: Queue, by: string): Recordable {
  return QUEUE_EVENTS.tell('queue.removed', org, { queue: id, name, by }, {}, queueSubject(id));
}
