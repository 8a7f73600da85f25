import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { change } from '../envelope.js';
import { addRemove as addRemoveOf, tellItem } from '../resource.js';
import { type System, systemPath } from './api.js';
import { stateOf } from './show.js';

const STATES = [
  ['enable', 'let jobs run there again'],
  ['disable', 'let no job begin anything there; those that need it wait'],
] as const;

export function addStates(system: Command, shell: Shell): void {
  for (const [action, summary] of STATES) {
    const examples = [`muster system ${action} hpc1`];
    const command = clientCommand(system, { usage: `${action} <system>`, summary, examples });
    does<object>(command, shell, async (call) => {
      const [name = ''] = call.args;
      const changed = await change<System>(call.client, systemPath(call.client, name), action);
      tellItem(call, changed, ({ out }, one) => out.line(`system ${one.id} is ${stateOf(one.available)}`));
    });
  }
}

export function addRemove(system: Command, shell: Shell): void {
  addRemoveOf(system, shell, {
    usage: 'rm <system>',
    summary: 'forget a system that no job needs; what is on it stays there',
    examples: ['muster system rm hpc1', 'muster system rm hpc1 --yes'],
    path: ({ client }, name = '') => systemPath(client, name),
    done: (name = '') => ({ document: { name, deleted: true }, line: `deleted system ${printable(name)}` }),
    question: (name = '') => `Delete system ${printable(name)}, and what opens it?`,
  });
}
