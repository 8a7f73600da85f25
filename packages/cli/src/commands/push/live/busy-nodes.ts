import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, WaitingNode } from '../../../api.js';
import { MusterError } from '../../../errors.js';
import { BUSY_LOOK_FIRST_MS, BUSY_LOOK_MS, PAGE_SIZE } from '../../../limits.js';
import type { StatusLine } from '../../../progress.js';
import type { Call } from '../../../shell.js';

/** Of a job that waits for busy nodes: tells how many they are while there are some. No event of its feed says it. */
export async function tellBusy(call: Call<object>, job: Job, line: StatusLine, signal: AbortSignal): Promise<void> {
  if (job.when_busy !== 'wait') return;
  for (let pause = BUSY_LOOK_FIRST_MS; ; pause = BUSY_LOOK_MS) {
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
    const busy = signal.aborted ? '' : await busyText(call, job.id);
    if (signal.aborted) return;
    line.waiting(busy === '' ? '' : `waits for ${busy}: muster push why ${job.id}`);
    if (busy === '') return;
  }
}

/** Empty: none, or that cannot be told now. */
async function busyText(call: Call<object>, id: string): Promise<string> {
  try {
    const path = call.client.inOrg('pushy', 'jobs', id, 'why');
    const { nodes } = await call.client.get<{ readonly nodes: readonly WaitingNode[] }>(path, { limit: PAGE_SIZE });
    const busy = nodes.filter(({ waits_for: waited }) => waited === 'node').length;
    if (busy === 0) return '';
    return `${busy} busy ${busy === 1 ? 'node' : 'nodes'}${nodes.length < PAGE_SIZE ? '' : ' or more'}`;
  } catch (error) {
    if (error instanceof MusterError) return '';
    throw error;
  }
}
