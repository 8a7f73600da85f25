import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { isSuccess } from '../../api.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { addOutputFlag } from './job-flags.js';
import { jobId, takesJob } from './job-id.js';
import { tellEnd } from './job-nodes.js';
import { type OutputChoice, tellUnseen } from './live/view.js';
import { tellResults } from './results/index.js';
import { watchJob } from './watching.js';

export function addWatch(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'watch <job>',
    summary: 'follow a job to its end; with --json every event as one line',
    examples: ['muster push watch JOB', 'muster push watch JOB --json'],
  });
  takesJob(command);
  addOutputFlag(command);
  does<{ readonly output?: OutputChoice }>(command, shell, async (call) => {
    const id = await jobId(call, call.args[0] ?? '');
    const watched = await watchJob(call, id, {
      onEvent: (event) => call.out.record({ event: event.name, id: event.id, ...(event.data as object) }),
      output: call.options.output,
    });
    if (watched.kind === 'left') return watched.exit;
    await tellResults(call, watched.job, call.options.output);
    await tellEnd(call, watched.job);
    tellUnseen(call, watched.job, call.options.output);
    return isSuccess(watched.job) ? EXIT.ok : EXIT.failed;
  });
}
