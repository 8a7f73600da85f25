import { type Command, Option } from 'commander';
import { clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';

interface Durable {
  readonly principal: string;
  readonly kind: 'user' | 'client';
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
  const list = clientCommand(durable, {
    usage: 'list',
    summary: 'durable subscriptions, and how far they are',
    examples: ['muster event durable list'],
  });
  does<object>(list, shell, async (call) => {
    const all = await call.client.get<Durable[]>(call.client.inOrg('events', 'durable'));
    call.out.document(all);
    call.out.table(
      ['Whose', 'Kind', 'Name', 'Position', 'Saved', 'Selector'],
      all.map((one) => [one.principal, one.kind, one.name, one.position, timeText(one.saved_at), one.selector]),
    );
  });
  const remove = clientCommand(durable, {
    usage: 'rm <principal> <name>',
    summary: 'forget how far a durable subscription is',
    examples: ['muster event durable rm alice billing'],
  });
  remove.addOption(
    new Option('--kind <kind>', 'whose it is, when a user and a client (node or service) have the same name').choices([
      'user',
      'client',
    ]),
  );
  does<{ readonly kind?: string }>(remove, shell, async (call) => {
    const [principal = '', name = ''] = call.args;
    const { kind } = call.options;
    await call.client.delete(call.client.inOrg('events', 'durable', principal, name), { kind });
    call.out.document({ principal, name, deleted: true });
    call.out.line(`deleted durable subscription ${name} of ${principal}`);
  });
}
