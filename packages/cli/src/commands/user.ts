import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { type KeyChoice, ttlOf, withKeyFlags, withPublicKey } from '../key-files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addKeyCommands, type Key } from './keys.js';
import { addList, addRemove, addShow, tellDone } from './resource.js';
import { forPeople } from './unlikely-name.js';

interface User {
  readonly name: string;
  readonly server_admin: boolean;
  readonly created_at: string;
  readonly keys: readonly Key[];
}

interface CreateFlags extends KeyChoice {
  readonly group?: readonly string[];
  readonly serverAdmin?: boolean;
}

export function addUser(program: Command, shell: Shell): void {
  const user = subcommand(program, {
    usage: 'user',
    summary: 'people and programs that sign requests',
    examples: ['muster user create alice --group push_job_writers --key-out alice.pem'],
  });
  const creating = clientCommand(user, {
    usage: 'create <name>',
    summary: 'create a user in the organization',
    examples: [
      'muster user create alice --group push_job_writers --key-out alice.pem',
      'muster user create bob --public-key bob.pub',
    ],
  });
  creating.option('--group <name>', 'make it a member of this group; may be repeated', collect);
  withKeyFlags(creating).option('--server-admin', 'may manage organizations and users of the whole server');
  does<CreateFlags>(creating, shell, create);
  addList<User>(user, shell, {
    summary: 'users',
    examples: ['muster user list'],
    read: ({ client }) => client.get(pathOf('users')),
    columns: {
      User: ({ name }) => name,
      Keys: ({ keys }) => keys.length,
      'Server admin': adminText,
      Created: ({ created_at }) => timeText(created_at),
    },
  });
  addShow<User>(user, shell, {
    usage: 'show <name>',
    summary: 'a user and its keys',
    examples: ['muster user show alice'],
    read: ({ client }, name) => client.get(pathOf('users', name)),
    tell: ({ out }, found) =>
      out.fields([
        ['User', found.name],
        ['Server admin', adminText(found)],
        ['Created', timeText(found.created_at)],
        ...found.keys.map((key) => ['Key', keyText(key)] as const),
      ]),
  });
  addRemove(user, shell, {
    usage: 'rm <name>',
    summary: 'delete a user with its keys, tokens and memberships',
    examples: ['muster user rm alice', 'muster user rm alice --yes'],
    question: (name = '') => `Delete user ${printable(name)} with its keys, tokens and memberships?`,
    path: (_, name = '') => pathOf('users', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted user ${name}` }),
  });
  addKeyCommands(user, shell, { kind: 'user', name: 'alice', path: (_, ...names) => pathOf('users', ...names) });
}

async function create(call: Call<CreateFlags>): Promise<void> {
  const { client, options, out } = call;
  const [name = ''] = call.args;
  const { group: groups = [], keyOut, serverAdmin } = options;
  const known = groups.length === 0 ? [] : await client.get<{ name: string }[]>(client.inOrg('groups'));
  const created = await withPublicKey(call.world, options, (publicKey) =>
    client.post<User>(pathOf('users'), {
      name,
      public_key: publicKey,
      ...ttlOf('key_ttl', options),
      organization: call.settings.org,
      ...(groups.length === 0 ? {} : { groups }),
      ...(serverAdmin === true ? { server_admin: true } : {}),
    }),
  ).catch((error: unknown) => {
    throw forPeople(error);
  });
  tellDone(call, {
    document: { ...created, ...(keyOut === undefined ? {} : { key: keyOut }) },
    line: `created user ${name}${groups.length === 0 ? '' : ` in ${groups.join(', ')}`}`,
  });
  if (keyOut !== undefined) out.line(`private key: ${keyOut}`);
  // An organization without a role group falls back to admins or all members; its first member changes that.
  for (const group of groups.filter((group) => !known.some(({ name }) => name === group))) {
    out.note(`note: the group ${group} is new; if it is a role, only its members, and admins, have that from now on`);
  }
}

function keyText({ fingerprint, created_at, expires_at }: Key): string {
  return `${fingerprint}  ${timeText(created_at)}${expires_at === null ? '' : `, expires ${timeText(expires_at)}`}`;
}

function adminText({ server_admin }: User): string {
  return server_admin ? 'yes' : 'no';
}
