import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addList, addRemove } from '../resource.js';

interface Scheduled {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly kind: 'user' | 'node' | 'service';
  readonly at: string;
  readonly attributes: readonly { readonly name: string; readonly value: string }[];
}

/** Future events: those that were published with a time. */
export function addScheduled(event: Command, shell: Shell): void {
  const scheduled = subcommand(event, {
    usage: 'scheduled',
    summary: 'future events: your own, for admins all of the organization',
    examples: ['muster event scheduled list', 'muster event scheduled cancel ID'],
  });
  addList<Scheduled>(scheduled, shell, {
    summary: 'future events in the order in which they will be published',
    examples: ['muster event scheduled list', 'muster event scheduled list --json'],
    read: ({ client }) => client.get(client.inOrg('events', 'scheduled')),
    columns: {
      Due: ({ at }) => timeText(at),
      Type: ({ type }) => type,
      Attributes: attributesText,
      Source: ({ source }) => source,
      Kind: ({ kind }) => kind,
      Id: ({ id }) => id,
    },
  });
  addRemove(scheduled, shell, {
    usage: 'cancel <id>',
    summary: 'take a future event back',
    examples: ['muster event scheduled cancel ID'],
    question: null,
    path: ({ client }, id = '') => client.inOrg('events', 'scheduled', id),
    done: (id) => ({ document: { id, cancelled: true }, line: `cancelled future event ${id}` }),
  });
}

function attributesText({ attributes }: Scheduled): string {
  const others = attributes.filter(({ name }) => name !== 'type' && name !== 'content-type');
  return others.map(({ name, value }) => `${name}=${value}`).join(' ');
}
