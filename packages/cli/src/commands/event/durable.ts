import { type Command, Option } from 'commander';
import { printable } from '../../printable.js';
import { type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addList, addRemove } from '../resource.js';

interface Durable {
  readonly principal: string;
  readonly kind: 'user' | 'node' | 'service';
  readonly name: string;
  readonly selector: string;
  readonly position: number;
  readonly saved_at: string;
}

/** Durable subscriptions: how far each reader is, kept while it is away. */
export function addDurable(event: Command, shell: Shell): void {
  const durable = subcommand(event, {
    usage: 'durable',
    summary: 'durable subscriptions: your own, for admins all of the organization',
    examples: ['muster event durable list', 'muster event durable rm alice billing'],
  });
  addList<Durable>(durable, shell, {
    summary: 'durable subscriptions, and how far they are',
    examples: ['muster event durable list'],
    read: ({ client }) => client.get(client.inOrg('events', 'durable')),
    columns: {
      Whose: ({ principal }) => principal,
      Kind: ({ kind }) => kind,
      Name: ({ name }) => name,
      Position: ({ position }) => position,
      Saved: ({ saved_at }) => timeText(saved_at),
      Selector: ({ selector }) => selector,
    },
  });
  addRemove<{ readonly kind?: string }>(durable, shell, {
    usage: 'rm <principal> <name>',
    summary: 'forget how far a durable subscription is',
    examples: ['muster event durable rm alice billing', 'muster event durable rm alice billing --yes'],
    question: (principal = '', name = '') =>
      `Delete durable subscription ${printable(name)} of ${printable(principal)}, and how far it is?`,
    path: ({ client }, principal = '', name = '') => client.inOrg('events', 'durable', principal, name),
    query: ({ kind }) => ({ kind }),
    done: (principal, name) => ({
      document: { principal, name, deleted: true },
      line: `deleted durable subscription ${name} of ${principal}`,
    }),
  }).addOption(
    new Option('--kind <kind>', 'whose it is, when a user and a node or service have the same name').choices([
      'user',
      'node',
      'service',
    ]),
  );
}
