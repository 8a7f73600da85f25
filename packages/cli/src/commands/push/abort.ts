import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { isFinal, type Job } from '../../api.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { unneededYes } from '../resource.js';
import { jobToChange, takesJob } from './job-id.js';
import { tellEnd } from './job-nodes.js';
import { nodesStopped } from './stopping.js';
import { abortJob, watchJob } from './watching.js';

export function addAbort(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'abort <job>',
    summary: 'stop a job: nodes that started are killed, the others never start',
    examples: ['muster push abort JOB', 'muster push abort JOB --wait'],
  });
  takesJob(command);
  command
    .option('--wait', 'until no node runs its command any more; at most 5 minutes after the job has ended')
    .addOption(unneededYes());
  does<{ readonly wait?: boolean }>(command, shell, async (call) => {
    const asked = await abortJob(call, await jobToChange(call, call.args[0] ?? ''));
    if (call.options.wait !== true) {
      call.out.document(asked);
      tellStatus(call, asked);
      return EXIT.ok;
    }
    const watched = isFinal(asked) ? null : await watchJob(call, asked.id, { output: 'none', aborting: true });
    if (watched?.kind === 'left') return watched.exit;
    const job = watched?.job ?? asked;
    const stopped = await nodesStopped(call, job);
    call.out.document(job);
    // Of a job that was over before there is nothing new to tell.
    if (watched === null) tellStatus(call, job);
    else await tellEnd(call, job);
    return stopped ? EXIT.ok : EXIT.failed;
  });
}

function tellStatus(call: Call<object>, job: Job): void {
  const status = call.out.status(job.status);
  if (!isFinal(job)) call.out.line(`Aborting job ${job.id}`);
  else if (job.status === 'aborted') call.out.line(`Job ${job.id} ${status}`);
  else call.out.line(`Job ${job.id} had ended before, there was nothing to abort: ${status}`);
}
