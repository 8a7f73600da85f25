import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { clientCommand, does, type Shell } from '../../shell.js';
import { outcome, waitFor } from './waiting.js';

export function addWait(task: Command, shell: Shell): void {
  const command = clientCommand(task, {
    usage: 'wait <task...>',
    summary: 'until all of these tasks have ended: 0 when they succeeded, else 1',
    examples: ['muster task wait TASK', 'muster task wait $(muster task add resize --param file=a.png)'],
  });
  does<object>(command, shell, async (call) => {
    let exit: number = EXIT.ok;
    for (const id of call.args) {
      const ended = await waitFor(call, id);
      call.out.record(ended);
      exit = Math.max(exit, outcome(call, ended));
    }
    return exit;
  });
}
