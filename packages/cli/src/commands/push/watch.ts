import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { isSuccess } from '../../api.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { jobId, takesJob } from './job-id.js';
import { tellEnd } from './job-nodes.js';
import { watchJob } from './watching.js';

export function addWatch(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'watch <job>',
    summary: 'follow a job to its end; with --json every event as one line',
    examples: ['muster push watch JOB', 'muster push watch JOB --json'],
  });
  takesJob(command);
  does<object>(command, shell, async (call) => {
    const id = await jobId(call, call.args[0] ?? '');
    const watched = await watchJob(call, id, (event) => {
      call.out.record({ event: event.name, id: event.id, ...(event.data as object) });
    });
    if (watched.kind === 'left') return watched.exit;
    await tellEnd(call, watched.job);
    return isSuccess(watched.job) ? EXIT.ok : EXIT.failed;
  });
}
