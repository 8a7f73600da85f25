import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addActions } from './actions.js';
import { addAdd } from './add.js';
import { addBulk } from './bulk.js';
import { addList } from './list.js';
import { addShow, addWhy } from './show.js';
import { addWait } from './wait.js';

export function addTask(program: Command, shell: Shell): void {
  const task = subcommand(program, {
    usage: 'task',
    summary: 'pieces of work in a queue',
    examples: ['muster task add resize --param file=a.png', "muster task list 'queue:resize AND status:failed'"],
  });
  addAdd(task, shell);
  addList(task, shell);
  addShow(task, shell);
  addWhy(task, shell);
  addWait(task, shell);
  addActions(task, shell);
  addBulk(task, shell);
}
