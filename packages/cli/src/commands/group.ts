import { MusterError } from '@muster/wire';
import type { Command } from 'commander';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { type Unknown, warnOfUnknown } from './unknown-names.js';

interface Members {
  readonly users: readonly string[];
  readonly clients: readonly string[];
  readonly groups: readonly string[];
}
type Group = Members & { readonly name: string };

interface MemberFlags {
  readonly user?: readonly string[];
  readonly client?: readonly string[];
  readonly group?: readonly string[];
}

export function addGroup(program: Command, shell: Shell): void {
  const group = subcommand(program, {
    usage: 'group',
    summary: 'groups of users and clients; roles are groups',
    examples: ['muster group add push_job_writers --user alice', 'muster group show admins'],
  });
  addReading(group, shell);
  addChange(group, shell, {
    usage: 'create <name>',
    summary: 'create a group',
    examples: [
      'muster group create oncall --user alice --user bob',
      'muster group create push_job_writers --group oncall',
    ],
    change: async (call, name, flags) => {
      const groups = await call.client.get<Group[]>(call.client.inOrg('groups'));
      if (groups.some((group) => group.name === name)) throw new MusterError('already_exists', { kind: 'group', name });
      return flags;
    },
  });
  addChange(group, shell, {
    usage: 'add <name>',
    summary: 'add members to a group',
    examples: ['muster group add push_job_writers --user alice', 'muster group add push_job_readers --group oncall'],
    change: async (call, name, flags) => {
      const before = await read(call, name);
      return each((kind) => [...before[kind], ...flags[kind]]);
    },
  });
  addChange(group, shell, {
    usage: 'remove <name>',
    summary: 'take members out of a group',
    examples: ['muster group remove push_job_writers --user alice'],
    change: async (call, name, flags) => {
      const before = await read(call, name);
      return each((kind) => before[kind].filter((member) => !flags[kind].includes(member)));
    },
  });
  const remove = clientCommand(group, {
    usage: 'rm <name>',
    summary: 'delete a group',
    examples: ['muster group rm oncall'],
  });
  does<object>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(call.client.inOrg('groups', name));
    call.out.document({ name, deleted: true });
    call.out.line(`deleted group ${name}`);
  });
}

function addReading(group: Command, shell: Shell): void {
  const list = clientCommand(group, {
    usage: 'list',
    summary: 'groups of the organization',
    examples: ['muster group list'],
  });
  does<object>(list, shell, async (call) => {
    const groups = await call.client.get<Group[]>(call.client.inOrg('groups'));
    call.out.document(groups);
    call.out.table(
      ['Group', 'Users', 'Clients', 'Groups'],
      groups.map(({ name, users, clients, groups }) => [name, users.join(' '), clients.join(' '), groups.join(' ')]),
    );
  });
  const show = clientCommand(group, {
    usage: 'show <name>',
    summary: 'members of a group',
    examples: ['muster group show admins'],
  });
  does<object>(show, shell, async (call) => {
    const [name = ''] = call.args;
    tell(call, await read(call, name));
  });
}

interface Change {
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly change: (call: Call<MemberFlags>, name: string, flags: Members) => Promise<Members>;
}

function addChange(group: Command, shell: Shell, { change, ...text }: Change): void {
  const command = clientCommand(group, text)
    .option('--user <name>', 'a user; may be repeated', collect)
    .option('--client <name>', 'a node or service; may be repeated', collect)
    .option('--group <name>', 'another group, with all its members; may be repeated', collect);
  does<MemberFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { user = [], client = [], group: nested = [] } = call.options;
    const wanted = await change(call, name, { users: user, clients: client, groups: nested });
    const stored = await call.client.put<Group & Unknown>(
      call.client.inOrg('groups', name),
      each((kind) => [...new Set(wanted[kind])]),
    );
    warnOfUnknown(call.out, stored);
    tell(call, stored);
  });
}

function each(list: (kind: keyof Members) => readonly string[]): Members {
  return { users: list('users'), clients: list('clients'), groups: list('groups') };
}

function read(call: Call<object>, name: string): Promise<Group> {
  return call.client.get<Group>(call.client.inOrg('groups', name));
}

function tell(call: Call<object>, group: Group): void {
  call.out.document(group);
  call.out.line(`Group    ${group.name}`);
  call.out.line(`Users    ${group.users.join(' ') || '-'}`);
  call.out.line(`Clients  ${group.clients.join(' ') || '-'}`);
  call.out.line(`Groups   ${group.groups.join(' ') || '-'}`);
}
