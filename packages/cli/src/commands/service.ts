import type { Command } from 'commander';
import { printable } from '../printable.js';
import { type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addCreate, addKeyCommands } from './keys.js';
import { addList, addRemove } from './resource.js';

interface Service {
  readonly name: string;
  readonly created_at: string;
}

export function addService(program: Command, shell: Shell): void {
  const service = subcommand(program, {
    usage: 'service',
    summary: 'programs of one organization that sign requests',
    examples: ['muster service create ci --key-out ci.pem'],
  });
  addCreate(service, shell, {
    usage: 'create <name>',
    summary: 'create a service',
    examples: ['muster service create ci --key-out ci.pem', 'muster service create ci --public-key ci.pub'],
    kind: 'service',
    path: ({ client }) => client.inOrg('services'),
  });
  addList<Service>(service, shell, {
    summary: 'services of the organization',
    examples: ['muster service list'],
    read: ({ client }) => client.get(client.inOrg('services')),
    columns: { Service: ({ name }) => name, Created: ({ created_at }) => timeText(created_at) },
  });
  addRemove(service, shell, {
    usage: 'rm <name>',
    summary: 'delete a service',
    examples: ['muster service rm ci', 'muster service rm ci --yes'],
    question: (name = '') => `Delete service ${printable(name)} with its keys and tokens?`,
    path: ({ client }, name = '') => client.inOrg('services', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted service ${name}` }),
  });
  addKeyCommands(service, shell, {
    kind: 'service',
    name: 'ci',
    path: (call, ...names) => call.client.inOrg('services', ...names),
  });
}
