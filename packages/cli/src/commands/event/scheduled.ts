import type { Command } from 'commander';
import { clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';

interface Scheduled {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly kind: 'user' | 'client';
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
  const list = clientCommand(scheduled, {
    usage: 'list',
    summary: 'future events in the order in which they will be published',
    examples: ['muster event scheduled list', 'muster event scheduled list --json'],
  });
  does<object>(list, shell, async (call) => {
    const events = await call.client.get<Scheduled[]>(call.client.inOrg('events', 'scheduled'));
    call.out.document(events);
    call.out.table(
      ['Due', 'Type', 'Attributes', 'Source', 'Kind', 'Id'],
      events.map((one) => [timeText(one.at), one.type, attributesText(one), one.source, one.kind, one.id]),
    );
  });
  const cancel = clientCommand(scheduled, {
    usage: 'cancel <id>',
    summary: 'take a future event back',
    examples: ['muster event scheduled cancel ID'],
  });
  does<object>(cancel, shell, async (call) => {
    const [id = ''] = call.args;
    await call.client.delete(call.client.inOrg('events', 'scheduled', id));
    call.out.document({ id, cancelled: true });
    call.out.line(`cancelled future event ${id}`);
  });
}

function attributesText({ attributes }: Scheduled): string {
  const others = attributes.filter(({ name }) => name !== 'type' && name !== 'content-type');
  return others.map(({ name, value }) => `${name}=${value}`).join(' ');
}
