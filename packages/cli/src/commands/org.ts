import { type Command, Option } from 'commander';
import { pathOf } from '../client.js';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import { percentOf } from '../share.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addInvitations } from './invitations.js';
import { addList, addRemove, addShow, agreed, tellDone, tellItem } from './resource.js';

const FIRST_ADMIN = 'muster user create NAME --group admins --key-out FILE';

interface Organization {
  readonly name: string;
  readonly created_at?: string | number;
}

interface PushSettings {
  readonly quorum: string | null;
  readonly max_nodes: number | null;
  readonly max_running: number | null;
  readonly max_starts: number | null;
  readonly approval: 'none' | 'runbooks';
}

/** As it is unless set. The command line knows no null. */
const ALL = 'all';

interface SetFlags {
  readonly quorum?: string;
  readonly maxNodes?: number | typeof ALL;
  readonly maxRunning?: number | typeof ALL;
  readonly maxStarts?: number | typeof ALL;
  readonly approval?: PushSettings['approval'];
}

export function addOrg(program: Command, shell: Shell): void {
  const org = subcommand(program, {
    usage: 'org',
    summary: 'organizations: tenants that share nothing',
    examples: ['muster org create staging', 'muster org invite alice'],
  });
  const create = clientCommand(org, {
    usage: 'create <name>',
    summary: 'create an organization (server administrators)',
    examples: ['muster org create staging'],
  });
  does<object>(create, shell, async (call) => {
    const [name = ''] = call.args;
    const created = await call.client.post<Organization>(pathOf('organizations'), { name });
    tellDone(call, { document: created, line: `created organization ${name}` });
    call.out.note(`nobody belongs to it yet; its first admin, for example: MUSTER_ORG=${name} ${FIRST_ADMIN}`);
  });
  addList<Organization>(org, shell, {
    summary: 'organizations you can see',
    examples: ['muster org list', 'muster org list --json'],
    read: ({ client }) => client.get(pathOf('organizations')),
    columns: { Organization: ({ name }) => name, Created: ({ created_at }) => timeText(created_at) },
  });
  addShow(org, shell, {
    usage: 'show <name>',
    summary: 'settings of an organization',
    examples: ['muster org show staging'],
    read: async ({ client }, name) => ({ name, ...(await client.get<PushSettings>(settingsPath(name))) }),
    tell,
  });
  addRemove(org, shell, {
    usage: 'rm <name>',
    summary: 'delete an organization without nodes, with its groups, tokens and jobs (server administrators)',
    examples: ['muster org rm staging', 'muster org rm staging --yes'],
    question: (name) => `Delete organization ${name} with its groups, tokens and jobs?`,
    path: (_, name = '') => pathOf('organizations', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted organization ${name}` }),
  });
  addSet(org, shell);
  addInvitations(org, shell);
  addMembership(org, shell);
}

const settingsPath = (name: string) => pathOf('organizations', name, 'pushy', 'settings');

function addSet(org: Command, shell: Shell): void {
  const set = clientCommand(org, {
    usage: 'set <name>',
    summary: 'change settings of an organization; shows them when none is given',
    examples: [
      'muster org set staging --quorum 80%',
      'muster org set staging --quorum all',
      'muster org set staging --max-nodes 50 --max-running 5 --max-starts 30',
      'muster org set staging --approval runbooks',
      'muster org set staging',
    ],
  });
  set
    .option(
      '--quorum <share>',
      'of push jobs that this command line starts without one: a percentage, or all',
      percentage('--quorum'),
    )
    .option('--max-nodes <n>', 'most nodes in one push job; all: as the server has it', limit('--max-nodes'))
    .option('--max-running <n>', 'most push jobs of one user at one time, or all', limit('--max-running'))
    .option('--max-starts <n>', 'most push jobs that one user starts within a minute, or all', limit('--max-starts'))
    .addOption(
      new Option(
        '--approval <what>',
        'what needs a second person: runs of all runbooks, or none but of those that ask for one',
      ).choices(['runbooks', 'none']),
    );
  does<SetFlags>(set, shell, async (call) => {
    const [name = ''] = call.args;
    const { quorum, maxNodes, maxRunning, maxStarts, approval } = call.options;
    const given = { quorum, max_nodes: maxNodes, max_running: maxRunning, max_starts: maxStarts, approval };
    const changes = Object.fromEntries(
      Object.entries(given).map(([field, value]) => [field, value === ALL ? null : value]),
    );
    const path = settingsPath(name);
    const settings = Object.values(changes).every((value) => value === undefined)
      ? await call.client.get<PushSettings>(path)
      : await call.client.put<PushSettings>(path, changes);
    tellItem(call, { name, ...settings }, tell);
  });
}

function tell({ out }: Call<object>, { name, ...settings }: PushSettings & { readonly name: string }): void {
  out.fields([
    ['Organization', name],
    ['Quorum of push jobs', settings.quorum ?? 'all nodes'],
    ['Nodes in one', limitText(settings.max_nodes)],
    ['Of one user at one time', limitText(settings.max_running)],
    ['Started by one user within a minute', limitText(settings.max_starts)],
    ['Needs a second person', settings.approval === 'runbooks' ? 'every run of a runbook' : 'what asks for one'],
  ]);
}

function percentage(flag: string): (text: string) => string {
  return (text) => {
    if (text === ALL || (percentOf(text.trim()) ?? 0) > 0) return text;
    throw new MusterError('usage', {
      reason: `${flag} takes a percentage above 0% (80%), or ${ALL} for all nodes; not '${text}'`,
    });
  };
}

/** `all`: no fewer than the server allows. */
function limit(flag: string): (text: string) => number | typeof ALL {
  return (text) => {
    if (text === ALL) return ALL;
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    throw new MusterError('usage', {
      reason: `${flag} takes a whole number from 1 on, or ${ALL}: as many as the server allows; not '${text}'`,
    });
  };
}

function limitText(limit: number | null): string {
  return limit === null ? 'as many as the server allows' : String(limit);
}

function addMembership(org: Command, shell: Shell): void {
  const add = clientCommand(org, {
    usage: 'add-user <name>',
    summary: 'make an existing user a member of the organization without asking (server administrators)',
    examples: ['muster org add-user alice', 'MUSTER_ORG=staging muster org add-user alice'],
  });
  does<object>(add, shell, async (call) => {
    const [name = ''] = call.args;
    const { org: organization } = call.settings;
    await call.client.post(call.client.inOrg('users', name), undefined);
    tellDone(call, { document: { name, organization, member: true }, line: `${name} belongs to ${organization}` });
  });
  const remove = clientCommand(org, {
    usage: 'rm-user <name>',
    summary: 'end the membership of a user; the user remains',
    examples: ['muster org rm-user alice', 'muster org rm-user alice --yes'],
  }).option('-y, --yes', 'do not ask');
  does<{ readonly yes?: boolean }>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    const { org: organization } = call.settings;
    await agreed(call, `End the membership of ${printable(name)} in ${organization}?`);
    await call.client.delete(call.client.inOrg('users', name));
    const line = `${name} no longer belongs to ${organization}`;
    tellDone(call, { document: { name, organization, member: false }, line });
  });
}
