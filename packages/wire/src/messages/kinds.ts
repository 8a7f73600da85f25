import type { AgentMessage, ServerMessage } from './link.js';
import type { TaskOrder, TaskReport } from './tasks.js';

/** Each kind of work has messages of its own; these tell those about tasks from the others. */

export function isTaskReport<M extends AgentMessage>(message: M | TaskReport): message is TaskReport {
  return message.type.startsWith('task_');
}

export function isTaskOrder(message: ServerMessage): message is TaskOrder {
  return message.type.startsWith('task_');
}
