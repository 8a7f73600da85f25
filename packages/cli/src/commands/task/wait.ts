import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { everyTask } from './list.js';
import { outcome, waitFor } from './waiting.js';

interface WaitFlags {
  readonly where?: string;
  readonly queue?: string;
}

/** Ids that are kept here while they are waited for. */
const MOST_TASKS = 100_000;

export function addWait(task: Command, shell: Shell): void {
  const command = clientCommand(task, {
    usage: 'wait [tasks...]',
    summary: 'until all of these tasks have ended: 0 when they succeeded, else 1',
    examples: [
      'muster task wait TASK',
      'muster task wait $(muster task add resize --param file=a.png)',
      "muster task wait --where 'queue:resize AND params.width > 100'",
    ],
  });
  command
    .option('--where <selector>', 'those that it finds now, in the place of ids; what is added later is not waited for')
    .option('--queue <queue>', 'with --where: only of this queue; its own readers may ask for no others');
  does<WaitFlags>(command, shell, async (call) => {
    const { args, options } = call;
    if (args.length > 0 === (options.where !== undefined)) {
      throw new MusterError('usage', { reason: 'give ids of tasks, or --where SELECTOR' });
    }
    if (options.queue !== undefined && options.where === undefined) {
      throw new MusterError('usage', { reason: '--queue goes with --where' });
    }
    const ids = args.length > 0 ? args : await found(call, options.where ?? '');
    if (ids.length === 0) call.out.note('no task is like that');
    let exit: number = EXIT.ok;
    for (const id of ids) {
      const ended = await waitFor(call, id);
      call.out.record(ended);
      exit = Math.max(exit, outcome(call, ended));
    }
    return exit;
  });
}

/** Oldest first, which is about the order in which they end. */
async function found(call: Call<WaitFlags>, where: string): Promise<readonly string[]> {
  const ids: string[] = [];
  const { queue } = call.options;
  for await (const { id } of everyTask(call, { q: where, order: 'asc', ...(queue !== undefined && { queue }) })) {
    if (ids.length === MOST_TASKS) {
      throw new MusterError('usage', { reason: `it finds more than ${MOST_TASKS} tasks: narrow it` });
    }
    ids.push(id);
  }
  return ids;
}
