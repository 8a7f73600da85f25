import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommitReport, open, type Store } from '@muster/store';
import { ManualClock } from '@muster/wire';
import pg from 'pg';
import type { PushEvent, PushEventName } from '../../src/push/ports.js';
import type { JobNodeRow, JobRow } from '../../src/push/repository.js';
import type { JobSpec } from '../../src/push/types.js';

/** Rows of push jobs, and a store to keep them in: PostgreSQL when MUSTER_TEST_DATABASE_URL is set, else SQLite. */

export const ORG = 'c'.repeat(32);
export const OTHER_ORG = 'd'.repeat(32);

export const jobId = (number: number): string => number.toString(16).padStart(32, '0');

export interface TestStore {
  readonly store: Store;
  readonly clock: ManualClock;
  close(): Promise<void>;
}

export async function openTestStore(observe: (report: CommitReport) => void = () => {}): Promise<TestStore> {
  const clock = new ManualClock();
  const url = process.env.MUSTER_TEST_DATABASE_URL;
  if (url === undefined) {
    const directory = mkdtempSync(join(tmpdir(), 'muster-push-'));
    const store = await open({ kind: 'sqlite', path: join(directory, 'muster.db') }, { clock, observe });
    return {
      store,
      clock,
      close: async () => {
        await store.close();
        rmSync(directory, { recursive: true });
      },
    };
  }
  const name = `muster_push_${process.pid}_${Date.now()}`;
  await administer(url, `create database ${name}`);
  const own = new URL(url);
  own.pathname = name;
  const store = await open({ kind: 'postgres', url: own.href }, { clock, observe });
  return {
    store,
    clock,
    close: async () => {
      await store.close();
      await administer(url, `drop database ${name} with (force)`);
    },
  };
}

async function administer(url: string, command: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(command);
  await client.end();
}

export const SPEC: JobSpec = {
  command: 'chef-client',
  options: {},
  capture: false,
  quorum: 1,
  runTimeout: 3600,
  votingTimeout: 60,
  ackTimeout: null,
  nodeTimeout: null,
  concurrency: null,
  startRate: null,
  maxFailures: null,
  target: 'DONKEY',
};

export function jobRow(given: Partial<JobRow> & { spec?: string } = {}, spec: Partial<JobSpec> = {}): JobRow {
  const whole = { ...SPEC, ...spec };
  return {
    id: jobId(1),
    org_id: ORG,
    command: whole.command,
    spec: JSON.stringify(whole),
    requester: 'bob',
    status: 'running',
    phase: 'running',
    ending: null,
    reason: null,
    node_count: 1,
    created_at: Date.UTC(2012, 8, 4, 23, 1, 2),
    updated_at: Date.UTC(2012, 8, 4, 23, 17, 56),
    deadline: null,
    event_seq: 0,
    server: 's',
    ...given,
  };
}

export function jobNodeRow(given: Partial<JobNodeRow> = {}): JobNodeRow {
  return {
    job_id: jobId(1),
    org_id: ORG,
    node: 'DONKEY',
    status: 'running',
    starting: 0,
    reason: null,
    exit_code: null,
    signal: null,
    incarnation: null,
    started_at: null,
    updated_at: Date.UTC(2012, 8, 4, 23, 17, 56),
    stdout_bytes: null,
    stderr_bytes: null,
    ...given,
  };
}

export function pushEvent(
  seq: number,
  name: PushEventName,
  data: Readonly<Record<string, unknown>> = {},
): Pick<PushEvent, 'seq' | 'name' | 'data'> {
  return { seq, name, data };
}
