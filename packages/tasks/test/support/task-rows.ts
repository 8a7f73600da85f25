import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { open, type Store } from '@muster/store';
import { createTestDatabase } from '../../../platform/test/support/database.js';
import { MIGRATIONS } from '../../../platform/test/support/migrations.js';
import { taskMigrations } from '../../src/repository/migrations.js';
import { addTask, type QueueRow, saveQueue, saveTask, type TaskRow } from '../../src/repository/writes.js';

/** Rows of queues and tasks, and a store to keep them in: PostgreSQL when MUSTER_TEST_DATABASE_URL is set, else SQLite. */

export const ORG = 'c'.repeat(32);
export const OTHER_ORG = 'd'.repeat(32);

export const numbered = (number: number): string => number.toString(16).padStart(24, '0');

export interface TaskStore {
  readonly store: Store;
  readonly clock: ManualClock;
  /** Stores tasks, and what became of them. */
  put(...rows: readonly TaskRow[]): Promise<void>;
  close(): Promise<void>;
}

export async function openTaskStore(): Promise<TaskStore> {
  const clock = new ManualClock();
  const directory = mkdtempSync(join(tmpdir(), 'muster-tasks-'));
  const { url, release } = await createTestDatabase();
  const migrations = [...MIGRATIONS.filter((one) => one.package !== taskMigrations.package), taskMigrations];
  const location =
    url === undefined
      ? ({ kind: 'sqlite', path: join(directory, 'muster.db') } as const)
      : ({ kind: 'postgres', url } as const);
  const store = await open(location, { clock, migrations });
  return {
    store,
    clock,
    put: async (...rows) => {
      await store.commit(rows.map((row) => addTask(row)));
      await store.commit(rows.map((row) => saveTask(row)));
    },
    close: async () => {
      await store.close();
      await release();
      rmSync(directory, { recursive: true });
    },
  };
}

export function queueRow(given: Partial<QueueRow> = {}): QueueRow {
  return {
    id: numbered(0xa0),
    org_id: ORG,
    name: 'resize',
    plugin: 'thumbnail',
    state: 'open',
    rules: '{}',
    threads: 4,
    created_at: 0,
    updated_at: 0,
    ...given,
  };
}

export const putQueue = (store: Pick<Store, 'commit'>, given: Partial<QueueRow> = {}): Promise<void> =>
  store.commit([saveQueue(queueRow(given))]);

export function taskRow(given: Partial<TaskRow> = {}): TaskRow {
  return {
    id: numbered(1),
    org_id: ORG,
    queue_id: numbered(0xa0),
    params: '{}',
    options: null,
    lane: '',
    requester: 'bob',
    ctime: 1000,
    status: -2,
    node: null,
    attempt: 0,
    failures: 0,
    orphanings: 0,
    rank: 0,
    not_before: null,
    expires_at: null,
    waits_for: 0,
    cancelling: 0,
    reason: null,
    mtime: 1000,
    started_at: null,
    ended_at: null,
    exit_code: null,
    signal: null,
    stdout: null,
    stderr: null,
    stdout_bytes: null,
    stderr_bytes: null,
    complete: null,
    ...given,
  };
}
