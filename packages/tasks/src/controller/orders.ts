import type { NodeRegistry } from '@muster/nodes';
import type { AssignedTask, TaskOrder, TaskRef } from '@muster/wire';
import type { NodeSlots } from '../assign/node-slots.js';
import { TASK_LIMITS } from '../limits.js';
import type { Params } from '../types.js';
import type { LiveTask } from './live-task.js';

/** A task, and which attempt at it the node is to run. */
export interface Assignment {
  readonly task: LiveTask;
  readonly attempt: number;
}

/** What one node is told at one moment. */
export class Orders {
  readonly assign: Assignment[] = [];
  readonly settled: TaskRef[] = [];
  readonly cancel: TaskRef[] = [];
  readonly recall: TaskRef[] = [];

  /** Those of a later turn. */
  add({ assign, settled, cancel, recall }: Orders): void {
    for (const one of assign) this.assign.push(one);
    for (const one of settled) this.settled.push(one);
    for (const one of cancel) this.cancel.push(one);
    for (const one of recall) this.recall.push(one);
  }
}

type Content = Omit<Extract<TaskOrder, { type: 'task_orders' }>, 'type'>;

/** Sends what nodes are told, in as few messages as their size allows. */
export function sendOrders(
  nodes: Pick<NodeRegistry, 'send'>,
  slots: NodeSlots,
  orders: Orders,
  paramsOf: (task: LiveTask) => string,
): void {
  const { node } = slots;
  // What was given up while it was stored does not leave: nobody would stop it.
  const wanted = orders.assign.filter(({ task, attempt }) => task.slots === slots && task.state.attempt === attempt);
  const send = (content: Content): void => nodes.send(node.org.id, [node.name], { type: 'task_orders', ...content });
  const { settled, cancel, recall } = orders;
  const rest = [settled, cancel, recall].map((refs) => [...refs]);
  const next = (): Pick<Content, 'settled' | 'cancel' | 'recall'> => {
    const [one = [], two = [], three = []] = rest.map((refs) => refs.splice(0, TASK_LIMITS.ordersAtOnce));
    return { settled: one, cancel: two, recall: three };
  };
  for (const assign of parts(wanted, paramsOf)) send({ assign, ...next() });
  while (rest.some((refs) => refs.length > 0)) send({ assign: [], ...next() });
}

/** Neither too many nor too long for one message. */
function* parts(assignments: readonly Assignment[], paramsOf: (task: LiveTask) => string): Iterable<AssignedTask[]> {
  let part: AssignedTask[] = [];
  let bytes = 0;
  for (const { task } of assignments) {
    const params = paramsOf(task);
    if (
      part.length === TASK_LIMITS.ordersAtOnce ||
      (part.length > 0 && bytes + params.length > TASK_LIMITS.orderBytes)
    ) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(assigned(task, params));
    task.sent = true;
    bytes += params.length;
  }
  if (part.length > 0) yield part;
}

const NONE: readonly string[] = [];

function assigned(task: LiveTask, params: string): AssignedTask {
  const { id, name, plugin, rules } = task.queue.queue;
  const own = task.ready.secrets ?? NONE;
  const ofQueue = rules.secrets === null ? NONE : Object.keys(rules.secrets.named);
  const secrets = own.length + ofQueue.length === 0 ? NONE : [...new Set([...ofQueue, ...own])];
  return {
    id: task.id,
    attempt: task.state.attempt,
    queue: { id, name },
    plugin,
    params: JSON.parse(params) as Params,
    ctime: task.ready.ctime,
    mtime: task.mtime,
    timeoutSeconds: task.ready.timeout ?? rules.timeout,
    outputLimit: rules.outputLimit,
    ...(secrets.length > 0 && { secrets }),
  };
}
