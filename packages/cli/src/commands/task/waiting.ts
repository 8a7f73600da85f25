import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '@muster/base';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import { type FeedEvent, followFeed } from '../../sse.js';
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
  const onTrouble = (reason: string | null): void => {
    if (reason !== null) call.out.note(`${reason}; trying again, the task goes on`);
  };
  try {
    for await (const { name, data } of feedOf(call, id, { enough, onTrouble, signal: leaving.signal })) {
      if (name === 'task' && enough(data as Task)) break;
    }
  } finally {
    leaving.abort();
  }
  return readTask(call, id);
}

/** Says what the plugin of a task says of its progress, until that is enough. Who reads its output hears of a server that is away. */
export async function tellProgress(call: Call<object>, id: string, signal: AbortSignal): Promise<void> {
  for await (const { name, data } of feedOf(call, id, { enough: hasEnded, onTrouble: () => {}, signal })) {
    if (name === 'progress') call.out.note(printable(progressText(data as NonNullable<TaskDetail['progress']>)));
  }
}

export function progressText({ fraction, text }: NonNullable<TaskDetail['progress']>): string {
  return `${Math.round(fraction * 100)}% ${text}`.trim();
}

interface Following {
  /** Nothing more is wanted of one that is so. */
  readonly enough: (task: Task) => boolean;
  readonly onTrouble: (reason: string | null) => void;
  readonly signal: AbortSignal;
}

function feedOf(call: Call<object>, id: string, { enough, onTrouble, signal }: Following): AsyncGenerator<FeedEvent> {
  return followFeed(call.client, call.client.inOrg('tasks', id, 'feed'), {
    signal,
    again: async () => !enough(await readTask(call, id)),
    onTrouble,
    pause: (ms) => sleep(ms, undefined, { signal }).catch(() => {}),
    now: () => call.world.now(),
  });
}

/** How a task ended, as the exit code and, unless it went well, in a line. */
export function outcome(call: Call<object>, task: Task): number {
  if (task.status === 'succeeded') return EXIT.ok;
  const why = task.reason === null ? '' : `: ${printable(task.reason)}`;
  call.out.note(`task ${task.id} ${task.status}${why}`);
  return EXIT.failed;
}
