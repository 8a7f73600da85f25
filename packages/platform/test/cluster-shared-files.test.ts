import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { open, type Store } from '@muster/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clusterMigrations } from '../src/cluster/migrations.js';
import { sharedKeyFiles } from '../src/cluster/shared-files.js';
import { SealingKey } from '../src/secrets/sealing-key.js';
import { keyFilesIn } from '../src/server-key/key-files.js';

/** The key by which agents know all servers of a cluster. */

const key = SealingKey.of(Buffer.alloc(32, 7));
let first: string;
let second: string;
let store: Store;
beforeEach(async () => {
  [first, second] = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'muster-shared-'))) as [string, string];
  const location = { kind: 'sqlite', path: join(first, 'muster.db') } as const;
  store = await open(location, { clock: new ManualClock(), migrations: [clusterMigrations] });
});
afterEach(async () => {
  await store.close();
  for (const directory of [first, second]) rmSync(directory, { recursive: true });
});

const filesOf = (directory: string) => sharedKeyFiles({ store, key, own: keyFilesIn(directory) });

describe('the key of a cluster', () => {
  test('is that of the server with which it begins, for those that lead later, too', async () => {
    keyFilesIn(first).write('server.pem', 'the key of a server that was alone');
    const begun = await filesOf(first);
    await begun.settled();
    expect(begun.read('server.pem')).toBe('the key of a server that was alone');
    expect((await filesOf(second)).read('server.pem')).toBe('the key of a server that was alone');
  });
  test('is none yet when that server has none, and then the one that it makes', async () => {
    const begun = await filesOf(first);
    await begun.settled();
    expect((await filesOf(second)).read('server.pem')).toBeNull();
    begun.write('server.pem', 'made');
    await begun.settled();
    expect((await filesOf(second)).read('server.pem')).toBe('made');
  });
  test('is not that of a server that comes later', async () => {
    keyFilesIn(first).write('server.pem', 'first');
    await (await filesOf(first)).settled();
    keyFilesIn(second).write('server.pem', 'second');
    expect((await filesOf(second)).read('server.pem')).toBe('first');
  });
});
