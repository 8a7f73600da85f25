import type { Job, PushJobNodeStatus } from '../../api.js';
import type { Colour } from '../../output.js';
import type { Call } from '../../shell.js';

/** Started, but did not succeed. */
export const FAILED: readonly PushJobNodeStatus[] = ['failed', 'crashed', 'timed_out', 'aborted'];
/** Never started. */
export const NOT_STARTED: readonly PushJobNodeStatus[] = ['nacked', 'unavailable', 'was_ready'];

type Counts = NonNullable<Job['counts']>;

/** In one cell: `0 ok, 6 failed`. What there is none of is left out, but for what went well. */
export function countsText(counts: Counts): string {
  const { waiting, running, ok, failed, notStarted } = sums(counts);
  const unfinished = waiting + running > 0;
  const parts = [
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(running > 0 ? [`${running} running`] : []),
    ...(ok > 0 || !unfinished ? [`${ok} ok`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(notStarted > 0 ? [`${notStarted} not started`] : []),
  ];
  return parts.join(', ');
}

/** It waits for somebody to say `push continue`; in a pause it goes on by itself. */
export function isHeld({ status, batch }: Pick<Job, 'status' | 'batch'>): boolean {
  return status === 'running' && (batch?.hold === 'confirm' || batch?.hold === 'failures');
}

/** *Complete* says nothing about success: how its nodes ended does. Other statuses speak for themselves. */
export function outcomeColour(job: Pick<Job, 'status' | 'counts'>): Colour | undefined {
  if (job.status !== 'complete' || job.counts === undefined) return undefined;
  const { ok, failed, notStarted } = sums(job.counts);
  if (failed > 0) return 'red';
  return notStarted > 0 || ok === 0 ? 'yellow' : 'green';
}

/** The status of a job in the colour of its outcome. */
export function statusText(call: Call<object>, job: Job, text: string = job.status): string {
  const colour = outcomeColour(job);
  return colour === undefined ? call.out.status(text) : call.out.paint(text, colour);
}

function sums(counts: Counts) {
  const sum = (statuses: readonly PushJobNodeStatus[]) =>
    statuses.reduce((total, status) => total + (counts[status] ?? 0), 0);
  return {
    waiting: sum(['new', 'ready']),
    running: sum(['running']),
    ok: sum(['succeeded']),
    failed: sum(FAILED),
    notStarted: sum(NOT_STARTED),
  };
}
