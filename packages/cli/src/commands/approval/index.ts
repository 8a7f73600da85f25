import type { Command } from 'commander';
import { printable, printableLines } from '../../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addList as addListOf, addShow as addShowOf, agreed, tellDone } from '../resource.js';

/** An approval of a list. */
interface Approval {
  readonly id: string;
  readonly status: 'denied' | 'expired' | 'pending' | 'started';
  readonly runbook: string;
  readonly version: number;
  readonly command: string;
  readonly target: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly hash: string;
  readonly asked_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly reason: string | null;
  readonly job: string | null;
}

/** A single approval. */
interface ApprovalDetail extends Approval {
  readonly order: Readonly<Record<string, unknown>> | null;
}

export function addApproval(program: Command, shell: Shell): void {
  const approval = subcommand(program, {
    usage: 'approval',
    summary: 'runs that need a second person',
    examples: ['muster approval list', 'muster approval grant ID'],
  });
  addList(approval, shell);
  addShowOf<ApprovalDetail>(approval, shell, {
    usage: 'show <approval>',
    summary: 'what would be started, with everything that decides it',
    examples: ['muster approval show ID'],
    read: ({ client }, id) => client.get(client.inOrg('approvals', id)),
    tell,
  });
  addGrant(approval, shell);
  addDeny(approval, shell);
}

function addList(approval: Command, shell: Shell): void {
  const list = addListOf<Approval, { readonly all?: boolean }>(approval, shell, {
    summary: 'those that wait and that you may look at, the newest first; with --all the others, too',
    examples: ['muster approval list', 'muster approval list --all --json'],
    read: ({ client, options }) => client.get(client.inOrg('approvals'), options.all ? {} : { status: 'pending' }),
    columns: {
      Approval: ({ id }) => id,
      Status: ({ status }) => status,
      Runbook: ({ runbook, version }) => `${runbook} ${version}`,
      'Asked by': ({ asked_by }) => asked_by,
      Expires: ({ expires_at }) => timeText(expires_at),
      Target: ({ target }) => target,
      Command: ({ command }) => command,
    },
    status: 'Status',
    look: { fit: true },
    none: 'nothing waits for approval',
  });
  list.option('--all', 'those that are decided, too');
}

function tell({ out }: Call<object>, one: ApprovalDetail): void {
  const given = (title: string, value: string | null): [string, string][] => (value === null ? [] : [[title, value]]);
  const parameters = Object.entries(one.parameters);
  out.fields([
    ['Approval', one.id],
    ['Status', one.status],
    ['Runbook', `${one.runbook}, version ${one.version}`],
    ['Asked by', one.asked_by],
    ['Asked', timeText(one.created_at)],
    ['Expires', timeText(one.expires_at)],
    ['Command', one.command],
    ...parameters.map(([name, value], index): [string, string] => [
      index === 0 ? 'Parameters' : '',
      `${name}=${value}`,
    ]),
    ['Target', one.target],
    ...Object.entries(one.order ?? {})
      .filter(([name, value]) => value !== null && !SHOWN_APART.includes(name))
      .map(([name, value]): [string, string] => [
        titleOf(name),
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ['Hash', one.hash],
    ...given('Decided by', one.decided_by),
    ...given('Decided', one.decided_at && timeText(one.decided_at)),
    ...given('Reason', one.reason),
    ...given('Job', one.job),
  ]);
  for (const name of TEXTS) {
    const text = one.order?.[name];
    if (typeof text !== 'string' || text === '') continue;
    out.line();
    out.line(`${titleOf(name)}:`);
    out.line(printableLines(text.trimEnd()));
  }
}

/** Of many lines. */
const TEXTS = ['script_text', 'file'];
const SHOWN_APART: readonly string[] = ['command', 'target', ...TEXTS];

function titleOf(name: string): string {
  return printable((name[0]?.toUpperCase() ?? '') + name.slice(1).replaceAll('_', ' '));
}

function addGrant(approval: Command, shell: Shell): void {
  const command = clientCommand(approval, {
    usage: 'grant <approval>',
    summary: 'agree to it, which starts it as it is shown; prints the id of the push job',
    examples: [
      'muster approval grant ID',
      'muster approval grant ID --yes',
      'muster approval grant ID --hash HASH --yes',
    ],
  });
  command
    .option('--hash <hash>', 'of what you have looked at before; whatever else is there now is not started')
    .option('-y, --yes', 'do not ask');
  does<{ readonly hash?: string; readonly yes?: boolean }>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const shown = await call.client.get<ApprovalDetail>(call.client.inOrg('approvals', id));
    if (!call.out.json) tell(call, shown);
    await agreed(call, `Start it for ${printable(shown.asked_by)}?`);
    const hash = call.options.hash ?? shown.hash;
    const granted = await call.client.post<{ job: string }>(call.client.inOrg('approvals', id, 'grant'), { hash });
    tellDone(call, { document: granted, line: `granted: job ${granted.job}` });
  });
}

function addDeny(approval: Command, shell: Shell): void {
  const command = clientCommand(approval, {
    usage: 'deny <approval>',
    summary: 'refuse it; what you asked for yourself you take back so',
    examples: ["muster approval deny ID --reason 'not on a friday'"],
  });
  command.option('--reason <text>', 'why, for who asked');
  does<{ readonly reason?: string }>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const { reason } = call.options;
    const body = reason === undefined ? {} : { reason };
    const denied = await call.client.post<Approval>(call.client.inOrg('approvals', id, 'deny'), body);
    tellDone(call, { document: denied, line: `denied ${denied.id}` });
  });
}
