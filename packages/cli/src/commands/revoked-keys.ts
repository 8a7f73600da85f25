import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { MusterError } from '../errors.js';
import { jsonOf } from '../files.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import { timeText } from '../summary.js';
import { wholeFingerprint } from './fingerprints.js';
import { everyPage, type Key } from './keys.js';
import { addRemove, agreed, tellDone, tellTable } from './resource.js';

interface Holder {
  readonly type: string;
  readonly name: string;
}

/** Null: a user who is no member of the organization. */
interface Keeper {
  readonly type: string;
  readonly name: string | null;
}

interface RevokedKey {
  readonly list: 'organization' | 'server';
  readonly fingerprint: string;
  readonly reason: string | null;
  readonly held_by: readonly Holder[];
  readonly revoked_by: string;
  readonly revoked_at: string;
}

interface Revoked {
  readonly fingerprint: string;
  readonly held_by: readonly Holder[];
  readonly already: boolean;
  readonly listed: boolean;
  /** Who goes on signing with it. */
  readonly kept_by: readonly Keeper[];
}

interface ScopeFlags {
  readonly server?: boolean;
}

interface RevokeFlags extends ScopeFlags {
  readonly reason?: string;
  readonly from?: string;
  readonly yes?: boolean;
}

/** As many as a request takes. */
const AT_ONCE = 500;

/** `key revoke`, `key revoked`, `key unrevoke`: keys that are no secret any more. */
export function addRevokedKeys(key: Command, shell: Shell): void {
  const revoke = clientCommand(key, {
    usage: 'revoke [fingerprints...]',
    summary: 'take keys that are no secret any more from whoever has them: they cannot be registered again',
    examples: [
      'muster key revoke 3f0c41d2e6 --reason "laptop stolen"',
      'muster key revoke 3f0c41d2e6 --server                # of users, and of everybody else on this server',
      'muster key revoke --from revoked-keys.json --yes     # what `muster key revoked --json` printed',
      'muster key revoke --from server-keys.json --server --yes # `muster key revoked --server --json`',
    ],
  })
    .option('--reason <text>', 'told to whoever tries to register the key')
    .option('--from <file>', 'JSON as `muster key revoked --json` prints it; -: standard input');
  withScope(revoke).option('-y, --yes', 'do not ask');
  does<RevokeFlags>(revoke, shell, revokeKeys);

  const revoked = withScope(
    clientCommand(key, {
      usage: 'revoked',
      summary: 'the revoked keys, the latest first',
      examples: ['muster key revoked', 'muster key revoked --json > revoked-keys.json', 'muster key revoked --server'],
    }),
  );
  does<ScopeFlags>(revoked, shell, async (call) => {
    const keys = await everyPage<RevokedKey>(call, listOf(call));
    call.out.document(keys);
    tellTable(call, keys, {
      Fingerprint: ({ fingerprint }) => fingerprint,
      Of: ({ held_by }) => namesOf(held_by) || '-',
      Revoked: ({ revoked_at }) => timeText(revoked_at),
      By: ({ revoked_by }) => revoked_by,
      Reason: ({ reason }) => reason ?? '-',
    });
    if (keys.length === 0) call.out.note('no key was revoked');
  });

  withScope(
    addRemove<ScopeFlags>(key, shell, {
      usage: 'unrevoke <fingerprint>',
      summary: 'a key that was revoked by mistake may be registered again; nobody gets it back by this',
      examples: ['muster key unrevoke 3f0c41d2e6'],
      question: null,
      whole: async (call, fingerprint = '') => [
        await wholeFingerprint(fingerprint, {
          keys: () => everyPage<RevokedKey>(call, listOf(call)),
          shownBy: 'muster key revoked',
        }),
      ],
      path: (call, fingerprint = '') => `${listOf(call)}${pathOf(fingerprint)}`,
      done: (fingerprint) => ({
        document: { fingerprint, revoked: false },
        line: `key ${fingerprint} may be registered again`,
      }),
    }),
  );
}

function withScope(command: Command): Command {
  return command.option('--server', 'the list of the server instead, which is about everybody; for its administrators');
}

function listOf({ client, options }: Call<ScopeFlags>): string {
  return options.server === true ? pathOf('revoked_keys') : client.inOrg('revoked_keys');
}

async function revokeKeys(call: Call<RevokeFlags>): Promise<void> {
  const { client, options, world } = call;
  const { reason, from } = options;
  const fingerprints = await wholeOf(call);
  const given = fingerprints.map((fingerprint) => ({ fingerprint, ...(reason !== undefined && { reason }) }));
  const keys = from === undefined ? given : [...given, ...readList(call, await jsonOf(world, from), from)];
  if (keys.length === 0) {
    throw new MusterError('usage', {
      reason: 'give fingerprints, as `muster key list --all` shows them, or --from FILE',
    });
  }
  const [first] = keys;
  const which = keys.length === 1 && first !== undefined ? `the key ${first.fingerprint}` : `${keys.length} keys`;
  await agreed(call, `revoke ${which}? Nobody can sign with it any more, nor register it again`);
  const done: Revoked[] = [];
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const answer = await client.post<{ keys: Revoked[] }>(listOf(call), { keys: keys.slice(at, at + AT_ONCE) });
    done.push(...answer.keys);
  }
  tellDone(call, { document: done, line: done.map((key) => lineOf(call, key)).join('\n') });
  const kept = done.filter(({ kept_by }) => kept_by.length > 0);
  if (kept.length > 0) throw keptError(kept);
}

function keptError(kept: readonly Revoked[]): MusterError {
  const keys = kept.map(({ fingerprint, kept_by }) => `${fingerprint} of ${kept_by.map(keeperText).join(', ')}`);
  const which = kept.map(({ fingerprint }) => fingerprint).join(' ');
  return new MusterError('key_of_user', { keys: keys.join('; '), again: `muster key revoke ${which} --server` });
}

function keeperText({ type, name }: Keeper): string {
  return name === null ? `a ${type} who is no member of this organization` : `${type} ${name}`;
}

/**
 * Who has a key is an organization's to tell, also to those who revoke it for the whole server. A key that nobody has may be one that
 * was revoked before.
 */
function wholeOf(call: Call<RevokeFlags>): Promise<string[]> {
  const keys = once(() => everyPage<Key>(call, call.client.inOrg('keys')));
  const others = once(() => everyPage<RevokedKey>(call, listOf(call)));
  const shownBy = 'muster key list --all';
  return Promise.all(call.args.map((given) => wholeFingerprint(given, { keys, others, shownBy })));
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

function lineOf({ options }: Call<ScopeFlags>, { fingerprint, held_by, already, listed, kept_by }: Revoked): string {
  if (!listed) return `not revoked ${fingerprint}: kept by ${kept_by.map(keeperText).join(', ')}`;
  const nobody = options.server === true ? 'nobody has it' : 'no node or service of the organization has it';
  const taken = held_by.length > 0 ? `taken from ${namesOf(held_by)}` : nobody;
  return `${already ? 'already revoked' : 'revoked'} ${fingerprint}: ${taken}`;
}

function namesOf(holders: readonly Holder[]): string {
  return holders.map(({ type, name }) => `${type} ${name}`).join(', ');
}

/** What the server says of a key that is no key tells more than could be said here. */
function readList(
  { options }: Call<ScopeFlags>,
  value: unknown,
  file: string,
): Pick<RevokedKey, 'fingerprint' | 'reason'>[] {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [value];
  return entries.map((entry) => {
    const { list, fingerprint, reason = null } = (entry ?? {}) as Partial<RevokedKey>;
    if (list === 'server' && options.server !== true)
      throw new MusterError('usage', { reason: `${file} has keys of the list of the server: give --server` });
    if (typeof fingerprint === 'string') return { fingerprint, reason };
    throw new MusterError('usage', { reason: `${file} is no list of keys with their \`fingerprint\`` });
  });
}
