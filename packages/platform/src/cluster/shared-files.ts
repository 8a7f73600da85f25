import { type Store, upsert } from '@muster/store';
import { MusterError } from '../errors.js';
import type { SealingKey } from '../secrets/sealing-key.js';
import type { KeyFile, KeyFiles } from '../server-key/key-files.js';
import './tables.js';

const NAME = 'server key';
const FILES: readonly KeyFile[] = ['server.pem', 'server-next.pem', 'server-new.pem', 'server-keys.json'];
const row = upsert('cluster_files', { name: 'text', sealed: 'bytes' }, ['name']);

type Texts = Partial<Record<KeyFile, string>>;

export interface SharedKeyFilesDeps {
  /** Of the leader. */
  readonly store: Pick<Store, 'read' | 'persist'>;
  readonly key: SealingKey;
  /** Where a server that was alone before has its key. */
  readonly own: KeyFiles;
}

/**
 * The server's key of a cluster: in the database, sealed, so that agents know every server that leads by the same key. A cluster that begins
 * takes over the files of the server with which it begins.
 * @throws MusterError `invalid_configuration`: this server has another key for secrets than those before it
 */
export async function sharedKeyFiles({ store, key, own }: SharedKeyFilesDeps): Promise<KeyFiles> {
  const found = await store.read
    .selectFrom('cluster_files')
    .select('sealed')
    .where('name', '=', NAME)
    .executeTakeFirst();
  const texts: Texts = found === undefined ? textsOf(own) : opened(key, found.sealed);
  let stored: Promise<void> = Promise.resolve();
  const changed = (): void => {
    stored = store.persist([row({ name: NAME, sealed: key.seal(NAME, texts) })]);
    // Whoever needs to know waits for `settled`; what cannot be stored at all ends the process.
    stored.catch(() => undefined);
  };
  // Those that lead later have it by this alone.
  if (found === undefined && Object.keys(texts).length > 0) changed();
  return {
    path: (file) => `${file} of the cluster`,
    read: (file) => texts[file] ?? null,
    write(file, text) {
      texts[file] = text;
      changed();
    },
    rename(from, to) {
      const { [from]: text } = texts;
      delete texts[from];
      if (text !== undefined) texts[to] = text;
      changed();
    },
    remove(file) {
      delete texts[file];
      changed();
    },
    settled: () => stored,
  };
}

/** Does this server have the key with which the cluster seals? @throws MusterError `invalid_configuration` */
export async function checkSharedKey(store: Pick<Store, 'read'>, key: SealingKey): Promise<void> {
  const found = await store.read
    .selectFrom('cluster_files')
    .select('sealed')
    .where('name', '=', NAME)
    .executeTakeFirst();
  if (found !== undefined) opened(key, found.sealed);
}

function textsOf(files: KeyFiles): Texts {
  const texts: Texts = {};
  for (const file of FILES) {
    const text = files.read(file);
    if (text !== null) texts[file] = text;
  }
  return texts;
}

function opened(key: SealingKey, sealed: Uint8Array): Texts {
  try {
    return key.unseal<Texts>(NAME, sealed);
  } catch (cause) {
    const reason =
      'this server has another key for secrets than the servers of the cluster: give all of them the same jobs.secret_key_file (a copy of job-secrets.key in the data directory of the first one), or the same secrets.key_command';
    throw new MusterError('invalid_configuration', { reason }, { cause });
  }
}
