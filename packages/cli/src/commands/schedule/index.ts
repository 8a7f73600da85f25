import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addNext } from './next.js';
import { addCreate, addSet } from './settings.js';
import { addHistory, addList, addShow } from './show.js';
import { addRemove, addRun, addStates } from './states.js';

export function addSchedule(program: Command, shell: Shell): void {
  const schedule = subcommand(program, {
    usage: 'schedule',
    summary: 'tasks and push jobs that run again and again',
    examples: ["muster schedule create nightly --cron '0 3 * * *' --queue resize", 'muster schedule list'],
  });
  addCreate(schedule, shell);
  addList(schedule, shell);
  addShow(schedule, shell);
  addHistory(schedule, shell);
  addSet(schedule, shell);
  addStates(schedule, shell);
  addRun(schedule, shell);
  addNext(schedule, shell);
  addRemove(schedule, shell);
}
