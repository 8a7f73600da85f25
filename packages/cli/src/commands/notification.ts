import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { checkSelector } from './event/check-selector.js';
import { count } from './queue/settings.js';
import { addList, addRemove, addShow, tellDone, tellItem, tellTable } from './resource.js';
import { type SwitchFlags, switched } from './switch.js';

/** How far the audit has come. */
interface Trail {
  readonly arrived: number;
  readonly sealed: number;
  readonly attempts: number;
  readonly response_code: number | null;
  readonly detail: string | null;
  readonly last_sent: string | null;
  readonly next_attempt: string | null;
}

interface Notification {
  readonly name: string;
  readonly follows: string;
  readonly on: string | null;
  readonly to: string;
  readonly only_logged: boolean;
  readonly retries: number;
  readonly enabled: boolean;
  readonly owner: { readonly name: string; readonly kind: string };
  readonly skipped: number;
  readonly trail: Trail | null;
  readonly created_at: string;
  readonly updated_at: string;
}

interface Tested {
  readonly id: string;
  readonly only_logged: boolean;
}

interface Delivery {
  readonly event: string;
  readonly outcome: string;
  readonly attempts: number;
  readonly response_code: number | null;
  readonly detail: string | null;
  readonly created: string;
  readonly last_sent: string | null;
  readonly next_attempt: string | null;
}

interface Flags extends SwitchFlags {
  readonly on?: string;
  readonly to?: string;
  readonly retries?: number;
  readonly afterSeal?: number;
}

interface CreateFlags extends Flags {
  readonly audit?: boolean;
}

const NO_MAIL =
  'this server sends no mail yet, but only logs it: its setting outbound.smtp_url names the mail server to send it by';

const FAILED = "type = 'push.job_complete' AND (status <> 'complete' OR failed > 0)";

/** Webhooks and mail that tell others of events, and webhooks of the audit. */
export function addNotification(program: Command, shell: Shell): void {
  const notification = subcommand(program, {
    usage: 'notification',
    summary: 'webhooks and mail that tell others of events, and webhooks of the audit',
    examples: [
      `muster notification create ops --on "${FAILED}" --to https://hooks.example.org/muster`,
      'muster notification create siem --audit --to https://siem.example.org/muster',
    ],
  });
  const one = (call: Call<object>, name: string) => call.client.inOrg('notifications', name);
  addCreate(notification, shell);
  addList<Notification>(notification, shell, {
    summary: 'whom events or the audit are told',
    examples: ['muster notification list', 'muster notification list --json'],
    read: ({ client }) => client.get(client.inOrg('notifications')),
    columns: {
      Notification: ({ name }) => name,
      State: ({ enabled }) => (enabled ? 'on' : 'off'),
      To: ({ to }) => to,
      On: ({ on }) => on ?? 'the audit',
      Skipped: ({ skipped }) => skipped,
    },
    status: 'State',
    look: { fit: true },
    none: 'no notifications yet: muster notification create NAME --on SELECTOR --to URL',
  });
  addShow<Notification>(notification, shell, {
    usage: 'show <notification>',
    summary: 'one notification',
    examples: ['muster notification show ops'],
    read: (call, name) => call.client.get(one(call, name)),
    tell,
  });
  addSet(notification, shell);
  addRemove(notification, shell, {
    usage: 'rm <notification>',
    summary: 'tell no more; what waits to be sent is not sent',
    examples: ['muster notification rm ops', 'muster notification rm ops --yes'],
    question: (name = '') => `Delete notification ${printable(name)}, and what waits to be sent?`,
    path: ({ client }, name = '') => client.inOrg('notifications', name),
    done: (name) => ({ document: { name, deleted: true }, line: `nothing more is told by ${name}` }),
  });
  addDeliveries(notification, shell);
  const test = clientCommand(notification, {
    usage: 'test <notification>',
    summary: 'send its target an event of type muster.test',
    examples: ['muster notification test ops'],
  });
  does<object>(test, shell, async (call) => {
    const [name = ''] = call.args;
    const sent = await call.client.post<Tested>(`${one(call, name)}/test`, {});
    const done = sent.only_logged ? 'to be logged' : 'sent';
    tellDone(call, { document: sent, line: `${done}; what becomes of it: muster notification deliveries ${name}` });
    warnOfMail(call, sent);
  });
  const secret = clientCommand(notification, {
    usage: 'secret',
    summary: 'with what receivers check the signature of webhooks',
    examples: ['muster notification secret'],
  });
  does<object>(secret, shell, async (call) => {
    const answer = await call.client.get<{ readonly secret: string }>(call.client.inOrg('webhook-secret'));
    tellDone(call, { document: answer, line: answer.secret });
  });
}

function addCreate(notification: Command, shell: Shell): void {
  const command = clientCommand(notification, {
    usage: 'create <notification>',
    summary: 'tell a webhook or a mail address of events, or a webhook of the audit, with your rights to follow them',
    examples: [
      `muster notification create ops --on "${FAILED}" --to https://hooks.example.org/muster`,
      "muster notification create mail --on \"type = 'node.down' AND node LIKE 'db%'\" --to ops@example.org",
      'muster notification create siem --audit --to https://siem.example.org/muster',
    ],
  });
  withFlags(command)
    .option('--audit', 'tell every entry of the audit, in order, with its seals, until it arrives; instead of --on')
    .option('--off', 'make it, and tell nothing yet');
  does<CreateFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { on, to, audit = false, off = false } = call.options;
    if ((on === undefined) !== audit || to === undefined) {
      throw new MusterError('usage', { reason: 'give --to, and either --on or --audit' });
    }
    const body = { name, ...(audit && { follows: 'audit' }), ...fieldsOf(call), ...(off && { enabled: false }) };
    const made = await call.client.post<Notification>(call.client.inOrg('notifications'), body);
    const told = made.only_logged ? 'is to be told' : 'is told';
    const line = made.enabled
      ? `${made.to} ${told} of ${audit ? 'the audit' : 'events'} from now on; try it: muster notification test ${name}`
      : `${name} is off: muster notification set ${name} --enable`;
    tellItem(call, made, ({ out }) => out.line(line));
    warnOfMail(call, made);
  });
}

function addSet(notification: Command, shell: Shell): void {
  const command = clientCommand(notification, {
    usage: 'set <notification>',
    summary: 'change which events are told, or to whom; from then on with your rights',
    examples: ['muster notification set ops --to ops@example.org', 'muster notification set ops --off'],
  });
  withFlags(command)
    .option('--off', 'tell nothing')
    .option('--enable', 'tell events that happen from now on; go on with the audit');
  does<Flags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const body = { ...switched(call.options), ...fieldsOf(call) };
    if (Object.keys(body).length === 0) throw new MusterError('usage', { reason: 'say what is to be changed' });
    const changed = await call.client.patch<Notification>(call.client.inOrg('notifications', name), body);
    tellItem(call, changed, tell);
    warnOfMail(call, changed);
  });
}

export function warnOfMail(
  { out }: Call<object>,
  { only_logged: onlyLogged }: Pick<Notification, 'only_logged'>,
): void {
  if (onlyLogged) out.note(NO_MAIL);
}

function withFlags(command: Command): Command {
  return command
    .option('--on <selector>', 'which events, such as "type = \'node.down\'"')
    .option('--to <target>', 'a URL, which gets Standard Webhooks, or an e-mail address')
    .option('--retries <n>', 'how often what does not come is sent again; 12 unless given', count('--retries', 0))
    .option(
      '--after-seal <n>',
      'of the audit: begin, or go on, after this seal; with all unless given',
      count('--after-seal', 0),
    );
}

function fieldsOf({ options, out }: Call<Flags>): Readonly<Record<string, unknown>> {
  const { on, to, retries, afterSeal } = options;
  if (on !== undefined) checkSelector(out, on);
  return {
    ...(on !== undefined && { on }),
    ...(to !== undefined && { to }),
    ...(retries !== undefined && { retries }),
    ...(afterSeal !== undefined && { after_seal: afterSeal }),
  };
}

function tell({ out }: Call<object>, one: Notification): void {
  out.fields([
    ['Notification', one.name],
    ['State', one.enabled ? 'on' : 'off'],
    ['On', one.on ?? 'the audit'],
    ['To', one.to],
    ['Retries', one.trail === null ? String(one.retries) : 'until it arrives'],
    ...(one.trail === null ? [] : tellTrail(one.trail)),
    ['Follows as', `${one.owner.name} (${one.owner.kind})`],
    ...(one.skipped === 0
      ? []
      : [['Skipped', `${one.skipped} ${one.skipped === 1 ? 'event' : 'events'}, as too many waited`] as const]),
    ['Created', timeText(one.created_at)],
    ['Changed', timeText(one.updated_at)],
  ]);
}

function tellTrail({ arrived, sealed, attempts, response_code: code, detail, last_sent, next_attempt }: Trail) {
  const answer = [code === null ? '' : `HTTP ${code}`, detail ?? ''].filter((part) => part !== '').join(', ');
  return [
    ['Arrived', arrivedText(arrived, sealed)] as const,
    ...(last_sent === null ? [] : [['Last sent', timeText(last_sent)] as const]),
    ...(attempts === 0 ? [] : [['Failed', `${attempts} times, the last: ${answer}`] as const]),
    ...(attempts === 0 ? [] : [['Sent again', timeText(next_attempt)] as const]),
  ];
}

/** What arrived was there: that it is gone, nobody but who can write to the database has done. */
function arrivedText(arrived: number, sealed: number): string {
  const text = `seal ${arrived} of ${sealed}`;
  if (arrived <= sealed) return text;
  return `${text}: ${arrived - sealed} that arrived are gone here, deleted from the database`;
}

function addDeliveries(notification: Command, shell: Shell): void {
  const command = clientCommand(notification, {
    usage: 'deliveries <notification>',
    summary: 'what was sent, or is to be, and what came of it; newest first',
    examples: ['muster notification deliveries ops', 'muster notification deliveries ops --limit 20 --offset 100'],
  });
  command
    .option('--limit <n>', 'at most so many, up to 250', count('--limit', 1), 250)
    .option('--offset <n>', 'without the newest so many', count('--offset', 0), 0);
  does<{ readonly limit: number; readonly offset: number }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const found = await call.client.get<Delivery[]>(call.client.inOrg('notifications', name, 'deliveries'), {
      limit: call.options.limit,
      offset: call.options.offset,
    });
    call.out.document(found);
    tellTable(
      call,
      found,
      {
        Event: ({ event }) => event,
        When: ({ created }) => timeText(created),
        Outcome: ({ outcome }) => outcome.replace('_', ' '),
        Attempts: ({ attempts }) => attempts,
        Code: ({ response_code: code }) => code,
        Next: ({ next_attempt: next }) => timeText(next),
        Detail: ({ detail }) => detail,
      },
      'Outcome',
      { fit: true },
    );
    if (found.length === 0) call.out.note(await whyNone(call, name));
  });
}

async function whyNone({ client }: Call<object>, name: string): Promise<string> {
  const { follows } = await client.get<Notification>(client.inOrg('notifications', name));
  return follows === 'audit'
    ? `deliveries of the audit are not kept one by one; how far it is: muster notification show ${name}`
    : 'nothing was told yet';
}
