import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '@muster/base';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import { followFeed } from '../../sse.js';
import { read } from '../envelope.js';
import { hasEnded, type Job, jobPath } from './api.js';

export function readJob({ client }: Call<object>, id: string): Promise<Job> {
  return read<Job>(client, jobPath(client, id));
}

interface Told {
  readonly status: string;
  readonly message: string;
}

/**
 * Waits until a job has ended, or is as `wanted` says; a server that goes away meanwhile is waited for. The job belongs to the
 * server: nothing that happens here changes it.
 */
export async function waitFor(
  call: Call<object>,
  id: string,
  heard: (told: Told) => void = () => undefined,
  wanted: (status: string) => boolean = () => false,
): Promise<Job> {
  const enough = (status: string): boolean => hasEnded({ status }) || wanted(status);
  const first = await readJob(call, id);
  if (enough(first.status)) return first;
  const leaving = new AbortController();
  const events = followFeed(call.client, jobPath(call.client, id, 'feed'), {
    signal: leaving.signal,
    again: async () => !enough((await readJob(call, id)).status),
    onTrouble: (reason) => {
      if (reason !== null) call.out.note(`${reason}; trying again, the job goes on`);
    },
    pause: (ms) => sleep(ms, undefined, { signal: leaving.signal }).catch(() => {}),
    now: () => call.world.now(),
  });
  try {
    for await (const { name, data } of events) {
      if (name !== 'job') continue;
      const told = data as Told;
      heard(told);
      if (enough(told.status)) break;
    }
  } finally {
    leaving.abort();
  }
  return readJob(call, id);
}

/** How a job ended, as the exit code and, unless it went well, in a line. */
export function outcome(call: Call<object>, job: Job): number {
  const { id, status, lastStatusMessage: message } = job;
  if (status === 'FINISHED') {
    call.out.note(`job ${id} FINISHED; what it wrote: muster job output ${id}`);
    return EXIT.ok;
  }
  call.out.note(`job ${id} ${status}${saysMore(message) ? `: ${printable(message)}` : ''}`);
  return EXIT.failed;
}

/** Of more than that the status is another one now. */
export function saysMore(message: string | null): message is string {
  return message !== null && message !== '' && !message.startsWith('Transitioning from status ');
}
