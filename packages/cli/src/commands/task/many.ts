import type { Call } from '../../shell.js';

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
