import { sizeText } from '@muster/base';
import { type Command, Option } from 'commander';
import { printable, printableLines } from '../printable.js';
import { clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { count } from './queue/settings.js';
import { addList, addShow, agreed } from './resource.js';

interface Message {
  readonly id: string;
  readonly kind: 'alternate' | 'dead-letter';
  readonly exchange: string;
  readonly routing_key: string;
  readonly reason: string | null;
  readonly length: number;
  readonly at: string;
}

interface ListFlags {
  readonly kind?: string;
  readonly limit: number;
}

/** Messages of jobs that nobody took. */
export function addDeadLetter(program: Command, shell: Shell): void {
  const letter = subcommand(program, {
    usage: 'dead-letter',
    summary: 'messages of jobs that nobody took: not routed, rejected, or not understood',
    examples: ['muster dead-letter list', 'muster dead-letter resubmit ID'],
  });
  addList<Message, ListFlags>(letter, shell, {
    summary: 'what is kept, the newest first',
    examples: ['muster dead-letter list', 'muster dead-letter list --kind alternate'],
    read: ({ client, options: { kind, limit } }) => client.get(client.inOrg('job-messages'), { kind, limit }),
    columns: {
      Id: ({ id }) => id,
      Kind: ({ kind }) => kind,
      When: ({ at }) => timeText(at),
      Size: ({ length }) => sizeText(length),
      Exchange: ({ exchange }) => exchange,
      Key: ({ routing_key }) => routing_key,
      Reason: ({ reason }) => reason,
    },
    look: { fit: true },
    none: 'every message was taken',
  })
    .addOption(
      new Option('--kind <kind>', 'alternate: could not be routed; dead-letter: was rejected').choices([
        'alternate',
        'dead-letter',
      ]),
    )
    .option('--limit <n>', 'at most this many, up to 1000', count('--limit', 1), 100);
  addShow<Message & { readonly body: string }>(letter, shell, {
    usage: 'show <message>',
    summary: 'a message, with its body',
    examples: ['muster dead-letter show ID'],
    read: ({ client }, id) => client.get(client.inOrg('job-messages', id)),
    tell: ({ out }, message) => {
      out.fields([
        ['Message', message.id],
        ['Kind', message.kind],
        ['When', timeText(message.at)],
        ['Exchange', message.exchange],
        ['Key', message.routing_key],
        ...(message.reason === null ? [] : [['Reason', message.reason] as [string, string]]),
        ['Size', sizeText(message.length)],
      ]);
      out.line();
      out.line(printableLines(message.body));
    },
  });
  const resubmit = clientCommand(letter, {
    usage: 'resubmit <message...>',
    summary: 'publish it again where it was published first; what nobody takes this time either comes back',
    examples: ['muster dead-letter resubmit ID'],
  });
  does<object>(resubmit, shell, async (call) => {
    for (const id of call.args) {
      await call.client.post(call.client.inOrg('job-messages', id, 'resubmit'), undefined);
      call.out.record({ id, resubmitted: true });
      call.out.line(`resubmitted ${printable(id)}`);
    }
  });
  const drop = clientCommand(letter, {
    usage: 'drop <message...>',
    summary: 'forget messages',
    examples: ['muster dead-letter drop ID', 'muster dead-letter drop ID --yes'],
  });
  drop.option('-y, --yes', 'do not ask');
  does<{ readonly yes?: boolean }>(drop, shell, async (call) => {
    const { args, client, out } = call;
    await agreed(
      call,
      args.length === 1 ? `Drop message ${printable(args[0] ?? '')}?` : `Drop ${args.length} messages?`,
    );
    for (const id of args) {
      await client.delete(client.inOrg('job-messages', id));
      out.record({ id, dropped: true });
      out.line(`dropped ${printable(id)}`);
    }
  });
}
