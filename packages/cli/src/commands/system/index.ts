import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addCreate, addSet } from './settings.js';
import { addList, addShow } from './show.js';
import { addRemove, addStates } from './states.js';

export function addSystem(program: Command, shell: Shell): void {
  const system = subcommand(program, {
    usage: 'system',
    summary: 'where jobs run and keep their files: this machine, hosts, clusters, our own nodes',
    examples: ['muster system create here --type local --root /var/lib/muster/work --default', 'muster system list'],
  });
  addCreate(system, shell);
  addList(system, shell);
  addShow(system, shell);
  addSet(system, shell);
  addStates(system, shell);
  addRemove(system, shell);
}
