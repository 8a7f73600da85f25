import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { type KeyChoice, withPublicKey } from '../key-files.js';
import { clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addKeyCommands, type Key } from './keys.js';

interface User {
  readonly name: string;
  readonly server_admin: boolean;
  readonly created_at: string;
  readonly keys: readonly Key[];
}

export function addUser(program: Command, shell: Shell): void {
  const user = subcommand(program, {
    usage: 'user',
    summary: 'people and programs that sign requests',
    examples: ['muster user create alice --group push_job_writers --key-out alice.pem'],
  });
  addCreate(user, shell);
  addList(user, shell);
  addShow(user, shell);
  addRemove(user, shell);
  addKeyCommands(user, shell, { kind: 'user', name: 'alice', path: (_, ...names) => pathOf('users', ...names) });
}

function addCreate(user: Command, shell: Shell): void {
  const command = clientCommand(user, {
    usage: 'create <name>',
    summary: 'create a user in the organization',
    examples: [
      'muster user create alice --group push_job_writers --key-out alice.pem',
      'muster user create bob --public-key bob.pub',
    ],
  });
  command
    .option('--group <name>', 'make it a member of this group; may be repeated', collect)
    .option('--public-key <file>', 'PEM file with its public key')
    .option('--key-out <file>', 'make a key pair and write the private key here')
    .option('--server-admin', 'may manage organizations and users of the whole server');
  does<KeyChoice & { readonly group?: readonly string[]; readonly serverAdmin?: boolean }>(
    command,
    shell,
    async (call) => {
      const [name = ''] = call.args;
      const groups = call.options.group ?? [];
      const known =
        groups.length === 0 ? [] : await groupNames(call.client.get.bind(call.client), call.client.inOrg('groups'));
      const created = await withPublicKey(call.world, call.options, (publicKey) =>
        call.client.post<User>(pathOf('users'), {
          name,
          public_key: publicKey,
          organization: call.settings.org,
          ...(groups.length === 0 ? {} : { groups }),
          ...(call.options.serverAdmin === true ? { server_admin: true } : {}),
        }),
      );
      call.out.document({ ...created, ...(call.options.keyOut === undefined ? {} : { key: call.options.keyOut }) });
      call.out.line(`created user ${name}${groups.length === 0 ? '' : ` in ${groups.join(', ')}`}`);
      if (call.options.keyOut !== undefined) call.out.line(`private key: ${call.options.keyOut}`);
      for (const group of groups.filter((group) => !known.includes(group))) {
        call.out.note(`note: the group ${group} is new; from now on only its members have what it grants`);
      }
    },
  );
}

/** An organization without a role group falls back to admins or all members; its first member changes that. */
async function groupNames(
  get: (path: string) => Promise<readonly { readonly name: string }[]>,
  path: string,
): Promise<readonly string[]> {
  return (await get(path)).map(({ name }) => name);
}

function addList(user: Command, shell: Shell): void {
  const command = clientCommand(user, {
    usage: 'list',
    summary: 'users',
    examples: ['muster user list'],
  });
  does<object>(command, shell, async (call) => {
    const users = await call.client.get<User[]>(pathOf('users'));
    call.out.document(users);
    call.out.table(
      ['User', 'Keys', 'Server admin', 'Created'],
      users.map(({ name, keys, server_admin, created_at }) => [
        name,
        keys.length,
        server_admin ? 'yes' : 'no',
        timeText(created_at),
      ]),
    );
  });
}

function addShow(user: Command, shell: Shell): void {
  const command = clientCommand(user, {
    usage: 'show <name>',
    summary: 'a user and its keys',
    examples: ['muster user show alice'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const found = await call.client.get<User>(pathOf('users', name));
    call.out.document(found);
    call.out.line(`User          ${found.name}`);
    call.out.line(`Server admin  ${found.server_admin ? 'yes' : 'no'}`);
    call.out.line(`Created       ${timeText(found.created_at)}`);
    for (const key of found.keys) call.out.line(`Key           ${key.fingerprint}  ${timeText(key.created_at)}`);
  });
}

function addRemove(user: Command, shell: Shell): void {
  const command = clientCommand(user, {
    usage: 'rm <name>',
    summary: 'delete a user with its keys, tokens and memberships',
    examples: ['muster user rm alice'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(pathOf('users', name));
    call.out.document({ name, deleted: true });
    call.out.line(`deleted user ${name}`);
  });
}
