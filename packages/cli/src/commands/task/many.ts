import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import type { ActionsAnswer } from './api.js';

export function tasksText(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'task' : 'tasks'}`;
}

/** Below the tasks of an organization, or of this queue alone, which is what its own writers may touch. */
export function tasksPath(
  { client }: Pick<Call<object>, 'client'>,
  queue: string | undefined,
  ...rest: string[]
): string {
  return queue === undefined ? client.inOrg('tasks', ...rest) : client.inOrg('queues', queue, 'tasks', ...rest);
}

/** Which stayed as they were, and why. */
export function tellRefused({ out }: Pick<Call<object>, 'out'>, refused: ActionsAnswer['refused']): void {
  for (const { reason, tasks, first } of refused) {
    const which = tasks === 1 ? printable(first) : `${tasksText(tasks)}, such as ${printable(first)}`;
    out.line(`  not ${which}: ${printable(reason)}`);
  }
}
