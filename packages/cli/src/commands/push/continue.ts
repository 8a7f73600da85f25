import type { Command } from 'commander';
import type { Job } from '../../api.js';
import type { Query } from '../../client.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { unlessForbidden } from '../../unless-forbidden.js';
import { jobToChange, takesJob } from './job-id.js';
import { readJob } from './read-job.js';

export function addContinue(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'continue <job>',
    summary: 'go on with a job that waits after a batch, or that is held after failures',
    examples: ['muster push continue JOB', 'muster push continue 3f2a --json'],
  });
  takesJob(command);
  does<object>(command, shell, async (call) => {
    const id = await jobToChange(call, call.args[0] ?? '');
    const path = call.client.inOrg('pushy', 'jobs', id, 'continue');
    const job = await call.client.put<Job>(path, undefined, await seenHold(call, id));
    call.out.document(job);
    call.out.line(`Continuing job ${job.id}`);
  });
}

/**
 * What is said of one hold is not to let the job pass the next, also when it is said again because the answer was lost. Who may not look at the
 * job has seen none.
 */
async function seenHold(call: Call<object>, id: string): Promise<Query> {
  const job = await unlessForbidden(readJob(call, id));
  return job?.batch === undefined ? {} : { batch: job.batch.number, excused: job.batch.excused };
}
