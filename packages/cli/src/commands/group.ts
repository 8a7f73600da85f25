import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import { type Call, type CommandText, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { minus, type NameFlags, type Names, namesOf, plus, type Unknown, warnOfUnknown, withNames } from './names.js';
import { addList, addRemove, addShow, tellItem } from './resource.js';
import { asMeant } from './unlikely-name.js';

type Group = Names & { readonly name: string; readonly exclusive: boolean };

export function addGroup(program: Command, shell: Shell): void {
  const group = subcommand(program, {
    usage: 'group',
    summary: 'groups of users and clients; roles are groups',
    examples: ['muster group add push_job_writers --user alice', 'muster group show admins'],
  });
  addList<Group>(group, shell, {
    summary: 'groups of the organization',
    examples: ['muster group list'],
    read: all,
    columns: {
      Group: ({ name }) => name,
      Users: ({ users }) => users.join(' '),
      Clients: ({ clients }) => clients.join(' '),
      Groups: ({ groups }) => groups.join(' '),
      Exclusive: exclusiveText,
    },
  });
  addShow(group, shell, {
    usage: 'show <name>',
    summary: 'members of a group',
    examples: ['muster group show admins'],
    read,
    tell,
  });
  addChange(group, shell, {
    usage: 'create <name>',
    summary: 'create a group',
    examples: [
      'muster group create oncall --user alice --user bob',
      'muster group create push_job_writers --group oncall',
      'muster group create push_job_readers --exclusive --user alice',
    ],
    creates: true,
    grows: true,
    change: async (call, name, members) => {
      if ((await all(call)).some((group) => group.name === name)) {
        throw new MusterError('already_exists', { kind: 'group', name });
      }
      return members;
    },
  });
  addChange(group, shell, {
    usage: 'add <name>',
    summary: 'add members to a group',
    examples: [
      'muster group add push_job_writers --user alice',
      'muster group add push_job_readers --group oncall',
      'muster group add push_job_readers --no-exclusive',
    ],
    grows: true,
    change: async (call, name, members) => plus(await readToAdd(call, name), members),
  });
  addChange(group, shell, {
    usage: 'remove <name>',
    summary: 'take members out of a group',
    examples: ['muster group remove push_job_writers --user alice'],
    change: async (call, name, members) => minus(await read(call, name), members),
  });
  addRemove(group, shell, {
    usage: 'rm <name>',
    summary: 'delete a group',
    examples: ['muster group rm oncall', 'muster group rm oncall --yes'],
    question: (name = '') => `Delete group ${printable(name)}, and the rights that its members have by it?`,
    path: ({ client }, name = '') => client.inOrg('groups', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted group ${name}` }),
  });
}

interface Change extends CommandText {
  readonly creates?: boolean;
  /** Takes members in, and may say whether admins need to be members. */
  readonly grows?: boolean;
  readonly change: (call: Call<NameFlags>, name: string, members: Names) => Promise<Names>;
}

function addChange(group: Command, shell: Shell, { change, creates = false, grows = false, ...text }: Change): void {
  const command = withNames(clientCommand(group, text), 'another group, with all its members; may be repeated');
  if (creates) command.option('--force', 'even if the name is nearly that of a role');
  if (grows) {
    command
      .option('--exclusive', 'admins hold what the group gives only as members of it')
      .option('--no-exclusive', 'admins hold it without being members; without either flag it stays as it is');
  }
  does<NameFlags & { readonly force?: boolean; readonly exclusive?: boolean }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { exclusive } = call.options;
    const { users, clients, groups } = await change(call, name, plus(NOBODY, namesOf(call.options)));
    const path = call.client.inOrg('groups', name);
    const stored = await asMeant(call, name, (force) =>
      call.client.put<Group & Unknown>(path, { users, clients, groups, exclusive }, force ? { force } : {}),
    );
    warnOfUnknown(call.out, stored);
    tellItem(call, stored, tell);
  });
}

const NOBODY: Names = { users: [], clients: [], groups: [] };

function all({ client }: Call<object>): Promise<Group[]> {
  return client.get(client.inOrg('groups'));
}

function read({ client }: Call<object>, name: string): Promise<Group> {
  return client.get(client.inOrg('groups', name));
}

/** A role is no group before it has its first members. */
async function readToAdd(call: Call<object>, name: string): Promise<Group> {
  try {
    return await read(call, name);
  } catch (error) {
    if (error instanceof MusterError && error.code === 'not_found') throw new MusterError('group_not_made', { name });
    throw error;
  }
}

function tell({ out }: Call<object>, group: Group): void {
  out.fields([
    ['Group', group.name],
    ['Users', group.users.join(' ') || '-'],
    ['Clients', group.clients.join(' ') || '-'],
    ['Groups', group.groups.join(' ') || '-'],
    ['Exclusive', exclusiveText(group)],
  ]);
}

function exclusiveText({ exclusive }: Group): string {
  return exclusive ? 'yes' : 'no';
}
