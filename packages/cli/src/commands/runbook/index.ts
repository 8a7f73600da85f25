import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addCreate, addUpdate } from './define.js';
import { addRun } from './run.js';
import { addList, addRemove, addShow, addVersions } from './show.js';

export function addRunbook(program: Command, shell: Shell): void {
  const runbook = subcommand(program, {
    usage: 'runbook',
    summary: 'saved commands that others may run, with the parameters that they take',
    examples: [
      'muster runbook create restart-web -f restart-web.yaml',
      'muster runbook run restart-web --param service=nginx',
    ],
  });
  addCreate(runbook, shell);
  addList(runbook, shell);
  addShow(runbook, shell);
  addVersions(runbook, shell);
  addUpdate(runbook, shell);
  addRun(runbook, shell);
  addRemove(runbook, shell);
}
