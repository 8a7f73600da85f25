import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { printable, printableLines } from '../../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addList as addListOf, addShow as addShowOf, agreed, tellDone, unneededYes } from '../resource.js';
import { orderLines } from './order.js';
import { addPolicy } from './policy.js';

/** An approval of a list. */
interface Approval {
  readonly id: string;
  readonly status: 'denied' | 'expired' | 'pending' | 'started';
  readonly kind: 'command' | 'rule' | 'runbook' | 'schedule';
  readonly runbook: string | null;
  readonly version: number | null;
  readonly schedule: string | null;
  readonly rule: string | null;
  readonly command: string;
  readonly target: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly hash: string;
  readonly asked_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly needs: readonly { readonly why: string; readonly grants: number; readonly by: readonly string[] }[];
  readonly agreed: readonly { readonly by: string; readonly at: string }[];
  readonly reason: string | null;
  readonly job: string | null;
}

/** A single approval. */
interface ApprovalDetail extends Approval {
  readonly order: Readonly<Record<string, unknown>> | null;
  readonly may_grant: boolean;
  readonly may_deny: boolean;
}

export function addApproval(program: Command, shell: Shell): void {
  const approval = subcommand(program, {
    usage: 'approval',
    summary: 'what waits for others to agree, and which push jobs do',
    examples: ['muster approval list', 'muster approval grant ID', 'muster approval policy set many --above 50'],
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
  addPolicy(approval, shell);
}

function addList(approval: Command, shell: Shell): void {
  const list = addListOf<Approval, { readonly all?: boolean }>(approval, shell, {
    summary: 'those that wait and that you may look at, the newest first; with --all the others, too',
    examples: ['muster approval list', 'muster approval list --all --json'],
    read: ({ client, options }) => client.get(client.inOrg('approvals'), options.all ? {} : { status: 'pending' }),
    columns: {
      Approval: ({ id }) => id,
      Status: ({ status }) => status,
      What: whatOf,
      Agreed: ({ agreed, needs }) => `${agreed.length}/${Math.max(1, ...needs.map(({ grants }) => grants))}`,
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
    ['What', whatOf(one)],
    ...one.needs.map(({ why, grants, by }, index): [string, string] => [
      index === 0 ? 'Needs' : '',
      `${grants === 1 ? 'somebody else' : `${grants} others`}, for ${why}${by.length === 0 ? '' : ` (${by.join(', ')})`}`,
    ]),
    ...one.agreed.map(({ by, at }, index): [string, string] => [index === 0 ? 'Agreed' : '', `${by}, ${timeText(at)}`]),
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
      .flatMap(([name, value]) =>
        orderLines(name, value).map((line, index): [string, string] => [index === 0 ? titleOf(name) : '', line]),
      ),
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

function whatOf({ kind, runbook, version, schedule, rule }: Approval): string {
  if (kind === 'runbook') return `runbook ${runbook}, version ${version}`;
  return kind === 'command' ? 'push job' : `${kind} ${schedule ?? rule}`;
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
    summary: 'agree to it; whoever does so last starts it as it is shown, and is told the id of the push job',
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
    if (shown.status === 'pending' && !shown.may_grant) throw mayNotGrant(shown);
    if (!call.out.json) tell(call, shown);
    // One that is decided is not asked about: the server says by whom.
    if (shown.status === 'pending') await agreed(call, `Agree to it for ${printable(shown.asked_by)}?`);
    const hash = call.options.hash ?? shown.hash;
    const granted = await call.client.post<Granted>(call.client.inOrg('approvals', id, 'grant'), { hash });
    tellDone(call, { document: granted, line: grantedText(granted, shown) });
  });
}

function mayNotGrant({ id, asked_by, needs }: ApprovalDetail): MusterError {
  const by = [...new Set(needs.flatMap((need) => need.by))];
  const who = by.length === 0 ? `those who may start push jobs, but ${printable(asked_by)}` : printable(by.join(', '));
  return new MusterError('not_yours_to_grant', { id, who });
}

interface Granted {
  readonly job: string | null;
  readonly missing: number;
}

function grantedText({ job, missing }: Granted, shown: Approval): string {
  if (missing > 0) return `agreed: ${missing} ${missing === 1 ? 'other has' : 'others have'} to agree besides`;
  return job === null ? `granted: ${printable(whatOf(shown))}` : `granted: job ${job}`;
}

function addDeny(approval: Command, shell: Shell): void {
  const command = clientCommand(approval, {
    usage: 'deny <approval>',
    summary: 'refuse it; what you asked for yourself you take back so',
    examples: ["muster approval deny ID --reason 'not on a friday'"],
  });
  command.option('--reason <text>', 'why, for who asked').addOption(unneededYes());
  does<{ readonly reason?: string }>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const { reason } = call.options;
    const body = reason === undefined ? {} : { reason };
    const denied = await call.client.post<Approval>(call.client.inOrg('approvals', id, 'deny'), body);
    tellDone(call, { document: denied, line: `denied ${denied.id}` });
  });
}
