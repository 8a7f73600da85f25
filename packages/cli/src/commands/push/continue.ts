import type { Command } from 'commander';
import type { Job } from '../../api.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { jobId, takesJob } from './job-id.js';

export function addContinue(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'continue <job>',
    summary: 'go on with a job that waits after a batch, or that is held after failures',
    examples: ['muster push continue JOB', 'muster push continue 3f2a --json'],
  });
  takesJob(command);
  does<object>(command, shell, async (call) => {
    const id = await jobId(call, call.args[0] ?? '');
    const path = call.client.inOrg('pushy', 'jobs', id);
    // What is said of one hold is not to let the job pass the next, also when it is said again because the answer was lost.
    const { batch: seen } = await call.client.get<Job>(path);
    const hold = seen === undefined ? {} : { batch: seen.number, excused: seen.excused };
    const job = await call.client.put<Job>(`${path}/continue`, undefined, hold);
    call.out.document(job);
    call.out.line(`Continuing job ${job.id}`);
  });
}
