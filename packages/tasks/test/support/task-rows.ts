import type { ManualClock } from '@muster/base';
import type { Store } from '@muster/store';
import { openTestStore } from '../../../platform/test/support/test-store.js';
import { addTask, saveTask, type TaskRow } from '../../src/repository/writes.js';

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
  const { store, clock, close } = await openTestStore();
  return {
    store,
    clock,
    close,
    put: async (...rows) => {
      await store.commit(rows.map((row) => addTask(row)));
      await store.commit(rows.map((row) => saveTask(row)));
    },
  };
}

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
    incarnation: null,
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
