import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../../shell.js';
import {
  isEmpty,
  minus,
  type NameFlags,
  type Names,
  namesOf,
  namesText,
  plus,
  someNames,
  type Unknown,
  warnOfUnknown,
  withNames,
} from '../names.js';
import { addList, tellDone } from '../resource.js';

interface Restriction extends Names {
  readonly action: string;
  readonly pattern: string;
}

/** Event types that are for some only. */
export function addAccess(event: Command, shell: Shell): void {
  const access = subcommand(event, {
    usage: 'access',
    summary: 'event types that only some may publish or follow',
    examples: ["muster event access grant publish 'temp.*' --client db1 --client db2", 'muster event access list'],
  });
  addList<Restriction>(access, shell, {
    summary: 'restricted event types, and to whom',
    examples: ['muster event access list'],
    read: all,
    columns: {
      Action: ({ action }) => action,
      Types: ({ pattern }) => pattern,
      For: (restriction) => namesText(restriction, 'nobody'),
    },
  });
  addGrant(access, shell);
  addRevoke(access, shell);
}

function addGrant(access: Command, shell: Shell): void {
  const grant = clientCommand(access, {
    usage: 'grant <action> <types>',
    summary: 'let only these publish, or subscribe to, event types: one, or a beginning and *',
    examples: [
      "muster event access grant publish 'temp.*' --client db1 --client db2",
      'muster event access grant subscribe billing.invoice --group finance',
    ],
  });
  does<NameFlags>(withNames(grant), shell, async (call) => {
    const named = someNames(call.options);
    const before = await find(call);
    await put(call, plus(before ?? named, named));
  });
}

function addRevoke(access: Command, shell: Shell): void {
  const revoke = clientCommand(access, {
    usage: 'revoke <action> <types>',
    summary: 'take the right from these; without names the types are restricted no longer',
    examples: [
      "muster event access revoke publish 'temp.*' --client db2",
      "muster event access revoke publish 'temp.*'",
    ],
  });
  does<NameFlags>(withNames(revoke), shell, async (call) => {
    const [action = '', pattern = ''] = call.args;
    const named = namesOf(call.options);
    if (isEmpty(named)) {
      await call.client.delete(pathOf(call));
      const line = `${action} ${pattern}: no longer restricted`;
      return tellDone(call, { document: { action, pattern, restricted: false }, line });
    }
    const before = await find(call);
    if (before === undefined) throw new MusterError('not_found', { kind: 'restriction', name: `${action} ${pattern}` });
    await put(call, minus(before, named));
  });
}

function all({ client }: Call<object>): Promise<Restriction[]> {
  return client.get(client.inOrg('events', 'access'));
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

async function put(call: Call<object>, names: Names): Promise<void> {
  const stored = await call.client.put<Restriction & Unknown>(pathOf(call), names);
  warnOfUnknown(call.out, stored);
  const { action, pattern } = stored;
  tellDone(call, { document: stored, line: `${action} ${pattern}: only ${namesText(stored, 'nobody')}` });
}
