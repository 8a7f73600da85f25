import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addBalance } from './balance.js';
import { addRemove } from './remove.js';
import { addCreate, addSet } from './settings.js';
import { addList, addShow, addWhy } from './show.js';
import { addStates } from './states.js';

export function addQueue(program: Command, shell: Shell): void {
  const queue = subcommand(program, {
    usage: 'queue',
    summary: 'backlogs of tasks that nodes work through',
    examples: ['muster queue create resize --plugin thumbnail --threads 8', 'muster queue list'],
  });
  addCreate(queue, shell);
  addList(queue, shell);
  addShow(queue, shell);
  addSet(queue, shell);
  addStates(queue, shell);
  addWhy(queue, shell);
  addBalance(queue, shell);
  addRemove(queue, shell);
}
