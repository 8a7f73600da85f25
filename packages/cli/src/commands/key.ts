import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { duration } from '../duration.js';
import { MusterError } from '../errors.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { everyPage, expiryText, type Key } from './keys.js';
import { tellTable } from './resource.js';
import { addRevokedKeys } from './revoked-keys.js';

export interface OwnedKey extends Key {
  readonly type: string;
  /** Whose it is. */
  readonly name: string;
}

interface ListFlags {
  readonly all?: boolean;
  /** Seconds. */
  readonly expiresWithin?: number;
}

/** Keys of whoever they are. They are added and removed below `user`, `node` and `service`. */
export function addKey(program: Command, shell: Shell): void {
  const key = subcommand(program, {
    usage: 'key',
    summary: 'keys that sign requests, when they expire, and which are revoked',
    examples: ['muster key list', 'muster key list --all --expires-within 30d', 'muster key revoke 3f0c41d2e6'],
  });
  const list = clientCommand(key, {
    usage: 'list',
    summary: 'your own keys, or all of the organization',
    examples: ['muster key list', 'muster key list --all', 'muster key list --all --expires-within 30d'],
  })
    .option('--all', 'of all users, nodes and services of the organization; for its admins')
    .option(
      '--expires-within <duration>',
      'only those that expire so soon, or have already',
      duration('--expires-within'),
    );
  does<ListFlags>(list, shell, async (call) => {
    const keys = await (call.options.all === true ? allKeys(call, call.options.expiresWithin) : ownKeys(call));
    call.out.document(keys);
    tellTable(call, keys, {
      Of: ({ type, name }) => `${type} ${name}`,
      Fingerprint: ({ fingerprint }) => fingerprint,
      Since: ({ created_at }) => timeText(created_at),
      Expires: ({ expires_at }) => expiryText(expires_at),
    });
  });
  addRevokedKeys(key, shell);
}

async function ownKeys(call: Call<ListFlags>): Promise<readonly OwnedKey[]> {
  const { user } = call.settings.credentials;
  if (user === undefined) {
    const reason = 'a token does not say whose keys are meant: say --all, or `muster user keys NAME`';
    throw new MusterError('usage', { reason });
  }
  const { expiresWithin } = call.options;
  const keys = await call.client.get<Key[]>(pathOf('users', user, 'keys'));
  const wanted = keys.filter(
    (key) => expiresWithin === undefined || expiresBy(key, call.world.now() + expiresWithin * 1000),
  );
  return wanted.map((key) => ({ type: 'user', name: user, ...key }));
}

export function expiresBy({ expires_at }: Pick<Key, 'expires_at'>, ms: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= ms;
}

/** Of the organization. `withinSeconds`: only those that expire so soon. */
export function allKeys(call: Call<object>, withinSeconds: number | undefined): Promise<readonly OwnedKey[]> {
  const within = withinSeconds === undefined ? {} : { expires_within: Math.ceil(withinSeconds) };
  return everyPage(call, call.client.inOrg('keys'), within);
}
