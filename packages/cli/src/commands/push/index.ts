import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addAbort } from './abort.js';
import { addContinue } from './continue.js';
import { addList } from './list.js';
import { addOutput } from './output.js';
import { addRerun } from './rerun.js';
import { addResults } from './results/index.js';
import { addStart } from './start.js';
import { addStatus } from './status.js';
import { addWatch } from './watch.js';
import { addWhy } from './why.js';

export function addPush(program: Command, shell: Shell): void {
  const push = subcommand(program, {
    usage: 'push',
    summary: 'run a command on many nodes now',
    examples: ['muster push start role:web -- chef-client', 'muster push status JOB'],
  });
  addStart(push, shell);
  addStatus(push, shell);
  addWhy(push, shell);
  addWatch(push, shell);
  addList(push, shell);
  addOutput(push, shell);
  addResults(push, shell);
  addContinue(push, shell);
  addAbort(push, shell);
  addRerun(push, shell);
}
