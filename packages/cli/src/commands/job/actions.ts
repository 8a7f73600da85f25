import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { act, post } from '../envelope.js';
import { tellDone } from '../resource.js';
import { type Job, jobPath } from './api.js';
import { outcome, waitFor } from './waiting.js';

const ACTIONS = [
  ['cancel', 'stop a job, wherever it is'],
  ['pause', 'let a job rest; a program that runs already goes on, and is looked after when the job is resumed'],
  ['resume', 'let a job go on that rests'],
  ['hide', 'leave a job that has ended out of lists'],
  ['unhide', 'show it again'],
] as const;

export function addActions(job: Command, shell: Shell): void {
  for (const [action, summary] of ACTIONS) {
    const examples = [`muster job ${action} JOB`];
    const command = clientCommand(job, { usage: `${action} <job...>`, summary, examples });
    if (action === 'cancel') command.option('--wait', 'until it has ended');
    does<{ readonly wait?: boolean }>(command, shell, async (call) => {
      for (const id of call.args) {
        const message = await act(call.client, jobPath(call.client, id, action));
        call.out.record({ id, action, message });
        call.out.line(printable(message ?? `${action}: ${id}`));
        if (call.options.wait === true) outcome(call, await waitFor(call, id));
      }
    });
  }
}

export function addResubmit(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'resubmit <job>',
    summary: 'submit the same again as a new job; prints its id',
    examples: ['muster job resubmit JOB', 'muster job resubmit JOB --wait'],
  });
  command.option('--wait', 'until it has ended: 0 when it finished, else 1');
  does<{ readonly wait?: boolean }>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const made = await post<Job>(call.client, jobPath(call.client, id, 'resubmit'), {});
    tellDone(call, { document: made, line: made.id });
    if (call.options.wait === true) return outcome(call, await waitFor(call, made.id));
    return 0;
  });
}
