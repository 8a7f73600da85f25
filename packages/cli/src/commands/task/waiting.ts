import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '@muster/base';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import { followFeed } from '../../sse.js';
import { hasEnded, type Task, type TaskDetail } from './api.js';

export function readTask({ client }: Call<object>, id: string): Promise<TaskDetail> {
  return client.get<TaskDetail>(client.inOrg('tasks', id));
}

/**
 * Waits until a task is as `wanted` says, or has ended; a server that goes away meanwhile is waited for. The task belongs to
 * the server: nothing that happens here changes it.
 */
export async function waitFor(
  call: Call<object>,
  id: string,
  wanted: (task: Task) => boolean = () => false,
): Promise<TaskDetail> {
  const enough = (task: Task): boolean => hasEnded(task) || wanted(task);
  const first = await readTask(call, id);
  if (enough(first)) return first;
  const leaving = new AbortController();
  const events = followFeed(call.client, call.client.inOrg('tasks', id, 'feed'), {
    signal: leaving.signal,
    again: async () => !enough(await readTask(call, id)),
    onTrouble: (reason) => {
      if (reason !== null) call.out.note(`${reason}; trying again, the task goes on`);
    },
    pause: (ms) => sleep(ms, undefined, { signal: leaving.signal }).catch(() => {}),
    now: () => call.world.now(),
  });
  try {
    for await (const { name, data } of events) if (name === 'task' && enough(data as Task)) break;
  } finally {
    leaving.abort();
  }
  return readTask(call, id);
}

/** How a task ended, as the exit code and, unless it went well, in a line. */
export function outcome(call: Call<object>, task: Task): number {
  if (task.status === 'succeeded') return EXIT.ok;
  const why = task.reason === null ? '' : `: ${printable(task.reason)}`;
  call.out.note(`task ${task.id} ${task.status}${why}`);
  return EXIT.failed;
}
