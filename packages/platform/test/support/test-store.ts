import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { type CommitReport, open, type Store, type StoreLocation } from '@muster/store';
import { createTestDatabase } from './database.js';
import { MIGRATIONS } from './migrations.js';

/** A store with the tables of all layers: PostgreSQL when MUSTER_TEST_DATABASE_URL is set, else SQLite. */

export interface TestStore {
  readonly store: Store;
  readonly clock: ManualClock;
  /** That of another server on the same database. */
  another(): Promise<Store>;
  close(): Promise<void>;
}

/** Migrating SQLite takes longer than most tests: it is done once, and every database begins as a copy. */
let migrated: Promise<Buffer> | undefined;

async function migratedImage(): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
  const path = join(directory, 'muster.db');
  const store = await open({ kind: 'sqlite', path }, { clock: new ManualClock(), migrations: MIGRATIONS });
  await store.close();
  const image = readFileSync(path);
  rmSync(directory, { recursive: true });
  return image;
}

export async function openTestStore(observe: (report: CommitReport) => void = () => {}): Promise<TestStore> {
  const clock = new ManualClock();
  const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
  const { url, release } = await createTestDatabase();
  const location: StoreLocation =
    url === undefined ? { kind: 'sqlite', path: join(directory, 'muster.db') } : { kind: 'postgres', url };
  if (location.kind === 'sqlite') {
    migrated ??= migratedImage();
    writeFileSync(location.path, await migrated);
  }
  const store = await open(location, { clock, observe, migrations: MIGRATIONS });
  const others: Store[] = [];
  return {
    store,
    clock,
    another: async () => {
      const other = await open(location, { clock, migrations: MIGRATIONS, exclusive: false });
      others.push(other);
      return other;
    },
    close: async () => {
      await Promise.all([store, ...others].map((opened) => opened.close()));
      await release();
      rmSync(directory, { recursive: true });
    },
  };
}
