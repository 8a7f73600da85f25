import { EXIT, MusterError } from '@muster/wire';
import type { Command } from 'commander';
import { isFinal } from '../../api.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { jobId, takesJob } from './job-id.js';
import { tellEnd } from './job-nodes.js';
import { abortJob, watchJob } from './watching.js';

export function addAbort(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'abort <job>',
    summary: 'stop a job: nodes that started are killed, the others never start',
    examples: ['muster push abort JOB', 'muster push abort JOB --wait'],
  });
  takesJob(command);
  command.option('--wait', 'until every node has stopped');
  does<{ readonly wait?: boolean }>(command, shell, async (call) => {
    const job = await abortJob(call, await jobToAbort(call, call.args[0] ?? ''));
    const { id } = job;
    if (call.options.wait !== true || isFinal(job)) {
      call.out.document(job);
      call.out.line(isFinal(job) ? `Job ${id} ${call.out.status(job.status)}` : `Aborting job ${id}`);
      return EXIT.ok;
    }
    const watched = await watchJob(call, id);
    if (watched.kind === 'left') return watched.exit;
    call.out.document(watched.job);
    await tellEnd(call, watched.job);
    return EXIT.ok;
  });
}

/** Who may not look jobs up may still abort one: the server knows which is meant, as long as it goes on. */
async function jobToAbort(call: Call<object>, typed: string): Promise<string> {
  try {
    return await jobId(call, typed);
  } catch (error) {
    if (error instanceof MusterError && error.code === 'forbidden') return typed;
    throw error;
  }
}
