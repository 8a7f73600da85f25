import type { Command } from 'commander';
import { type KeyChoice, ttlOf, withKeyFlags, withPublicKey } from '../key-files.js';
import { printable } from '../printable.js';
import { type Call, type CommandText, clientCommand, does, type Shell } from '../shell.js';
import { timeText } from '../summary.js';
import { wholeFingerprint } from './fingerprints.js';
import { addList, addRemove, tellDone } from './resource.js';

export interface Key {
  readonly fingerprint: string;
  readonly created_at: string;
  /** Null: it does not expire. */
  readonly expires_at: string | null;
}

/** Whose keys a group of commands changes. */
export interface KeyOwner {
  /** As in `give a user one more key`. */
  readonly kind: 'user' | 'node' | 'service';
  /** For the examples. */
  readonly name: string;
  readonly path: (call: Call<object>, name: string, ...more: string[]) => string;
}

export interface NewOwner extends CommandText {
  readonly kind: 'node' | 'service';
  readonly path: (call: Call<object>) => string;
}

/** A whole page, as the server bounds it. */
const PAGE = 10_000;

/** All keys of a list, page after page. */
export async function everyPage<Item>(
  { client }: Call<object>,
  path: string,
  query: Readonly<Record<string, number>> = {},
): Promise<readonly Item[]> {
  const found: Item[] = [];
  for (;;) {
    const page = await client.get<{ total: number; keys: Item[] }>(path, {
      ...query,
      limit: PAGE,
      offset: found.length,
    });
    found.push(...page.keys);
    if (page.keys.length === 0 || found.length >= page.total) return found;
  }
}

/** What a column says of when a key expires. */
export function expiryText(expiresAt: string | null): string {
  return expiresAt === null ? 'never' : timeText(expiresAt);
}

/** `create <name>` of what brings a key and nothing else. */
export function addCreate(parent: Command, shell: Shell, { kind, path, ...text }: NewOwner): void {
  does<KeyChoice>(withKeyFlags(clientCommand(parent, text)), shell, async (call) => {
    const [name = ''] = call.args;
    const created = await withPublicKey(call.world, call.options, (publicKey) =>
      call.client.post<object>(path(call), { name, public_key: publicKey, ...ttlOf('key_ttl', call.options) }),
    );
    tellDone(call, { document: created, line: `created ${kind} ${name}` });
  });
}

/** `keys`, `add-key` and `rm-key`: the same for whatever has keys. */
export function addKeyCommands(parent: Command, shell: Shell, { kind, name: example, path }: KeyOwner): void {
  addList<Key>(parent, shell, {
    usage: 'keys <name>',
    summary: `the keys of a ${kind}`,
    examples: [`muster ${kind} keys ${example}`],
    read: (call) => call.client.get(path(call, call.args[0] ?? '', 'keys')),
    columns: {
      Fingerprint: ({ fingerprint }) => fingerprint,
      Since: ({ created_at }) => timeText(created_at),
      Expires: ({ expires_at }) => expiryText(expires_at),
    },
  });
  const add = clientCommand(parent, {
    usage: 'add-key <name>',
    summary: `give a ${kind} one more key`,
    examples: [
      `muster ${kind} add-key ${example} --public-key new.pub`,
      `muster ${kind} add-key ${example} --key-out new.pem --expires 90d`,
    ],
  });
  does<KeyChoice>(withKeyFlags(add), shell, async (call) => {
    const [name = ''] = call.args;
    const key = await withPublicKey(call.world, call.options, (publicKey) =>
      call.client.post<Key>(path(call, name, 'keys'), { public_key: publicKey, ...ttlOf('ttl', call.options) }),
    );
    const until = key.expires_at === null ? '' : `, until ${timeText(key.expires_at)}`;
    tellDone(call, { document: key, line: `added key ${key.fingerprint} to ${name}${until}` });
  });
  addRemove(parent, shell, {
    usage: 'rm-key <name> <fingerprint>',
    summary: `take a key away from a ${kind}; the last one stays`,
    examples: [`muster ${kind} rm-key ${example} 3f0c41d2e6`, `muster ${kind} rm-key ${example} 3f0c41d2e6 --yes`],
    question: (name = '', fingerprint = '') => `Take key ${printable(fingerprint)} from ${printable(name)}?`,
    whole: async (call, name = '', fingerprint = '') => [
      name,
      await wholeFingerprint(fingerprint, {
        keys: () => call.client.get<Key[]>(path(call, name, 'keys')),
        shownBy: `muster ${kind} keys ${printable(name)}`,
      }),
    ],
    path: (call, name = '', fingerprint = '') => path(call, name, 'keys', fingerprint),
    done: (name, fingerprint) => ({
      document: { name, fingerprint, deleted: true },
      line: `removed key ${fingerprint} from ${name}`,
    }),
  });
}
