import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addAgaveJobs } from './agave-jobs.js';
import { addDisbatch } from './disbatch.js';

export function addImport(program: Command, shell: Shell): void {
  const command = subcommand(program, {
    usage: 'import',
    summary: 'take over what another system has',
    examples: ['muster import disbatch ./dump', 'muster import agave-jobs jobs.jsonl'],
  });
  addDisbatch(command, shell);
  addAgaveJobs(command, shell);
}
