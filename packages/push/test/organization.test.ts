import { afterEach, beforeEach, expect, test } from 'vitest';
import { appendChunk } from '../../platform/src/output/chunks.js';
import { openTestStore, type TestStore } from '../../platform/test/support/test-store.js';
import { outputOf } from '../src/output.js';
import { clearPush, unfinishedPushJob } from '../src/repository/organization.js';
import { JobRetention } from '../src/repository/retention.js';
import { savePushJob, savePushJobNode } from '../src/repository/writes.js';
import { jobId, jobNodeRow, jobRow, ORG, OTHER_ORG } from './support/push-rows.js';

/** What becomes of push jobs when their organization is deleted. */

let given: TestStore;
beforeEach(async () => {
  given = await openTestStore();
});
afterEach(() => given.close());

const ended = { status: 'complete', phase: 'finished' } as const;
const left = async (table: 'push_jobs' | 'push_job_nodes' | 'output_chunks' | 'deleted_push_jobs') =>
  (await given.store.read.selectFrom(table).selectAll().execute()).length;

const output = (number: number) =>
  appendChunk({ ...outputOf(jobId(number), 'DONKEY'), stream: 'stdout', position: 0, data: Buffer.from('x') });

test('an organization with a push job that runs cannot be deleted, and is told which', async () => {
  await given.store.commit([
    savePushJob(jobRow({ id: jobId(1), ...ended })),
    savePushJob(jobRow({ id: jobId(2), org_id: OTHER_ORG })),
  ]);
  await given.store.transact(async (trx) => {
    expect(await unfinishedPushJob(trx, ORG)).toBeNull();
    expect(await unfinishedPushJob(trx, OTHER_ORG)).toBe(`job ${jobId(2)} has not finished`);
  });
});

test('its push jobs go in steps, and what belongs to them follows; those of others stay', async () => {
  for (const number of [1, 2, 3]) {
    await given.store.commit([
      savePushJob(jobRow({ id: jobId(number), ...ended })),
      savePushJobNode(jobNodeRow({ job_id: jobId(number) })),
      output(number),
    ]);
  }
  await given.store.commit([
    savePushJob(jobRow({ id: jobId(4), org_id: OTHER_ORG, ...ended })),
    savePushJobNode(jobNodeRow({ job_id: jobId(4) })),
    output(4),
  ]);
  const step = () => given.store.transact((trx) => clearPush(trx, ORG, 2));
  expect(await step()).toBe(false);
  expect([await left('push_jobs'), await left('deleted_push_jobs')]).toEqual([2, 2]);
  expect(await step()).toBe(true);
  const { store, clock } = given;
  const ignore = () => undefined;
  await new JobRetention({ store, clock, keepMs: 0, isLive: () => false, deleted: ignore, failed: ignore }).prune();
  expect([await left('push_jobs'), await left('push_job_nodes'), await left('output_chunks')]).toEqual([1, 1, 1]);
  expect(await left('deleted_push_jobs')).toBe(0);
});

test('so does whose its nodes were', async () => {
  const row = { owner: 'idle', job_id: null, reason: null, since: 0, server: 'server-1' } as const;
  await given.store.transact(async (trx) => {
    const rows = [ORG, OTHER_ORG].map((org_id) => ({ ...row, org_id, node: 'web1' }));
    await trx.insertInto('push_node_owners').values(rows).execute();
  });
  expect(await given.store.transact((trx) => clearPush(trx, ORG, 2))).toBe(true);
  const left = await given.store.read.selectFrom('push_node_owners').select('org_id').execute();
  expect(left).toEqual([{ org_id: OTHER_ORG }]);
});
