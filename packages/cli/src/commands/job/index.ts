import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addActions, addResubmit } from './actions.js';
import { addList } from './list.js';
import { addNotifications } from './notifications.js';
import { addOutput } from './output.js';
import { addShare } from './share.js';
import { addHistory, addShow, addWhy } from './show.js';
import { addRun, addSubmit } from './submit.js';

export function addJob(program: Command, shell: Shell): void {
  const job = subcommand(program, {
    usage: 'job',
    summary: 'long jobs: inputs staged, run somewhere, watched, outputs archived',
    examples: ['muster job run blast-1.0 --input query=q.fasta --follow', "muster job list 'status:BLOCKED'"],
  });
  addSubmit(job, shell);
  addRun(job, shell);
  addList(job, shell);
  addShow(job, shell);
  addHistory(job, shell);
  addWhy(job, shell);
  addOutput(job, shell);
  addActions(job, shell);
  addResubmit(job, shell);
  addShare(job, shell);
  addNotifications(job, shell);
}
