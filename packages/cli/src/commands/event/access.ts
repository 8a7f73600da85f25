import { MusterError } from '@muster/wire';
import type { Command } from 'commander';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../../shell.js';
import { type Unknown, warnOfUnknown } from '../unknown-names.js';

interface Names {
  readonly users: readonly string[];
  readonly clients: readonly string[];
  readonly groups: readonly string[];
}

interface Restriction extends Names {
  readonly action: string;
  readonly pattern: string;
}

interface NameFlags {
  readonly user?: readonly string[];
  readonly client?: readonly string[];
  readonly group?: readonly string[];
}

/** Event types that are for some only. */
export function addAccess(event: Command, shell: Shell): void {
  const access = subcommand(event, {
    usage: 'access',
    summary: 'event types that only some may publish or follow',
    examples: ["muster event access grant publish 'temp.*' --client db1 --client db2", 'muster event access list'],
  });
  addListing(access, shell);
  addGranting(access, shell);
  addRevoking(access, shell);
}

function addListing(access: Command, shell: Shell): void {
  const list = clientCommand(access, {
    usage: 'list',
    summary: 'restricted event types, and to whom',
    examples: ['muster event access list'],
  });
  does<object>(list, shell, async (call) => {
    const restrictions = await all(call);
    call.out.document(restrictions);
    call.out.table(
      ['Action', 'Types', 'For'],
      restrictions.map((one) => [one.action, one.pattern, namesText(one)]),
    );
  });
}

function addGranting(access: Command, shell: Shell): void {
  const grant = clientCommand(access, {
    usage: 'grant <action> <types>',
    summary: 'let only these publish, or subscribe to, event types: one, or a beginning and *',
    examples: [
      "muster event access grant publish 'temp.*' --client db1 --client db2",
      'muster event access grant subscribe billing.invoice --group finance',
    ],
  });
  withNames(grant);
  does<NameFlags>(grant, shell, async (call) => {
    const named = namesOf(call.options);
    if (isEmpty(named)) throw new MusterError('usage', { reason: 'give --user, --client or --group' });
    const before = await find(call);
    const add = (kind: keyof Names) => [...new Set([...(before?.[kind] ?? []), ...named[kind]])];
    tell(call, await put(call, { users: add('users'), clients: add('clients'), groups: add('groups') }));
  });
}

function addRevoking(access: Command, shell: Shell): void {
  const revoke = clientCommand(access, {
    usage: 'revoke <action> <types>',
    summary: 'take the right from these; without names the types are restricted no longer',
    examples: [
      "muster event access revoke publish 'temp.*' --client db2",
      "muster event access revoke publish 'temp.*'",
    ],
  });
  withNames(revoke);
  does<NameFlags>(revoke, shell, async (call) => {
    const [action = '', pattern = ''] = call.args;
    const named = namesOf(call.options);
    if (isEmpty(named)) {
      await call.client.delete(pathOf(call));
      call.out.document({ action, pattern, restricted: false });
      call.out.line(`${action} ${pattern}: no longer restricted`);
      return;
    }
    const before = await find(call);
    if (before === undefined) throw new MusterError('not_found', { kind: 'restriction', name: `${action} ${pattern}` });
    const keep = (kind: keyof Names) => before[kind].filter((one) => !named[kind].includes(one));
    tell(call, await put(call, { users: keep('users'), clients: keep('clients'), groups: keep('groups') }));
  });
}

function withNames(command: Command): void {
  command
    .option('--user <name>', 'a user; may be repeated', collect)
    .option('--client <name>', 'a node or service; may be repeated', collect)
    .option('--group <name>', 'a group; may be repeated', collect);
}

function namesOf({ user = [], client = [], group = [] }: NameFlags): Names {
  return { users: user, clients: client, groups: group };
}

function isEmpty({ users, clients, groups }: Names): boolean {
  return users.length + clients.length + groups.length === 0;
}

function all(call: Call<object>): Promise<Restriction[]> {
  return call.client.get<Restriction[]>(call.client.inOrg('events', 'access'));
}

async function find(call: Call<object>): Promise<Restriction | undefined> {
  const [action, pattern] = call.args;
  return (await all(call)).find((one) => one.action === action && one.pattern === pattern);
}

/** @throws MusterError `usage` */
function pathOf(call: Call<object>): string {
  const [action = '', pattern = ''] = call.args;
  if (action !== 'publish' && action !== 'subscribe') {
    throw new MusterError('usage', { reason: `'${action}': expected publish or subscribe` });
  }
  return call.client.inOrg('events', 'access', action, pattern);
}

async function put(call: Call<object>, names: Names): Promise<Restriction> {
  const stored = await call.client.put<Restriction & Unknown>(pathOf(call), names);
  warnOfUnknown(call.out, stored);
  return stored;
}

function tell(call: Call<object>, restriction: Restriction): void {
  call.out.document(restriction);
  call.out.line(`${restriction.action} ${restriction.pattern}: only ${namesText(restriction)}`);
}

function namesText({ users, clients, groups }: Names): string {
  const named = [...users, ...clients, ...groups.map((name) => `group ${name}`)];
  return named.length === 0 ? 'nobody' : named.join(', ');
}
