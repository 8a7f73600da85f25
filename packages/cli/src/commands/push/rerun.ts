import { MusterError } from '@muster/wire';
import type { Command } from 'commander';
import type { JobNodeStatus } from '../../api.js';
import { clientCommand, collect, does, type Shell } from '../../shell.js';
import { addJobFlags } from './job-flags.js';
import { type LaunchOptions, launch } from './launch.js';
import { type JobOptions, jobRequest } from './request.js';
import { readJob } from './watching.js';

interface RerunOptions extends JobOptions, LaunchOptions {
  readonly failed?: boolean;
  readonly missing?: boolean;
  readonly status?: readonly string[];
}

const FAILED: readonly JobNodeStatus[] = ['failed', 'crashed', 'timed_out', 'aborted'];
const MISSING: readonly JobNodeStatus[] = ['nacked', 'unavailable', 'was_ready'];

export function addRerun(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'rerun <job> [command...]',
    summary: 'run the command of an earlier job again on its nodes that failed or were missing',
    examples: [
      'muster push rerun JOB --failed',
      'muster push rerun JOB --failed --missing --quorum 50%',
      'muster push rerun JOB --status timed_out -- chef-client --once',
    ],
  });
  command
    .usage('[options] JOB [-- COMMAND...]')
    .option('--failed', 'nodes that failed, crashed, timed out or were aborted')
    .option('--missing', 'nodes that refused, were unavailable or were never started')
    .option('--status <status>', 'nodes with this status; may be repeated', collect);
  addJobFlags(command);
  does<RerunOptions>(
    command,
    shell,
    async (call) => {
      const [id = '', ...others] = call.args;
      const statuses = rerunStatuses(call.options);
      const words = call.words ?? others;
      const earlier = await readJob(call, id);
      const chosen = {
        target: { from_job: { id: earlier.id, statuses } },
        words: words.length > 0 ? words : [earlier.command],
      };
      return launch(call, chosen.target, jobRequest(chosen, call.options, call.world.cwd));
    },
    { words: true },
  );
}

/** Without a choice, everything that did not succeed. */
export function rerunStatuses(options: Pick<RerunOptions, 'failed' | 'missing' | 'status'>): string[] {
  const chosen = [
    ...(options.failed === true ? FAILED : []),
    ...(options.missing === true ? MISSING : []),
    ...(options.status ?? []).flatMap((text) => text.split(',')),
  ].map((status) => status.trim().toLowerCase());
  if (chosen.includes('')) throw new MusterError('usage', { reason: '--status takes job-node statuses' });
  return [...new Set(chosen.length > 0 ? chosen : [...FAILED, ...MISSING])];
}
