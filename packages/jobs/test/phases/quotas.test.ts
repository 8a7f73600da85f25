import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { roomFor } from '../../src/phases/quotas.js';
import { JobStore } from '../../src/repository/job-store.js';
import type { System } from '../../src/systems/types.js';
import { Blocked, type Job } from '../../src/types.js';
import { type JobFixture, openJobs } from '../support/jobs.js';

let fixture: JobFixture;
beforeEach(async () => {
  fixture = await openJobs();
});
afterEach(() => fixture.close());

const SYSTEM = { name: 'hpc1', maxJobs: 5, maxJobsPerUser: 3, queues: [] } as unknown as System;

/** Two processes over one database; two ways to it where it lets only one process in. */
async function workers(): Promise<readonly JobStore[]> {
  const { store, test, clock, jobs } = fixture;
  const other = store.kind === 'postgres' ? await test.another() : store;
  const recorder = await openRecorder(other, clock);
  return [jobs, new JobStore({ store: other, recorder, clock, nextId: () => fixture.nextId() })];
}

/** Why each job did not begin; null: it did. */
async function begin(jobs: readonly Job[]): Promise<readonly (string | null)[]> {
  const stores = await workers();
  const begins = jobs.map(async (job, index) => {
    await stores[index % 2]?.change(job, { to: 'PROCESSING_INPUTS' }, [], roomFor(job, SYSTEM));
    return null;
  });
  const ended = await Promise.allSettled(begins);
  return ended.map((end) => {
    if (end.status === 'fulfilled') return end.value;
    if (!(end.reason instanceof Blocked)) throw end.reason;
    return end.reason.message.split(' ')[0] ?? '';
  });
}

test('of jobs that two workers begin at the same moment no more begin than may run on the system', async () => {
  const jobs: Job[] = [];
  for (let n = 0; n < 16; n++) jobs.push(await fixture.job(`j${n}`, 'PENDING', { owner: `user${n % 8}` }));
  const why = await begin(jobs);
  expect(why.filter((reason) => reason === null)).toHaveLength(5);
  expect(new Set(why)).toEqual(new Set([null, 'JOBS_QUOTA_MAX_JOBS']));
  const statuses = await Promise.all(jobs.map(async ({ uuid }) => (await fixture.read(uuid)).status));
  expect(statuses.map((status) => status === 'PROCESSING_INPUTS')).toEqual(why.map((reason) => reason === null));
});

test('nor of one user than a user may run there', async () => {
  const jobs: Job[] = [];
  for (let n = 0; n < 10; n++) jobs.push(await fixture.job(`j${n}`, 'PENDING', { owner: 'jdoe' }));
  const why = await begin(jobs);
  expect(why.filter((reason) => reason === null)).toHaveLength(3);
  expect(new Set(why)).toEqual(new Set([null, 'JOBS_QUOTA_MAX_USER_JOBS']));
});

test('what has begun is told once, and a job that is not as it was read does not begin', async () => {
  const job = await fixture.job('j1', 'PENDING');
  const [one] = await workers();
  const begun = await one?.change(job, { to: 'PROCESSING_INPUTS' }, [], roomFor(job, SYSTEM));
  expect(begun?.status).toBe('PROCESSING_INPUTS');
  await expect(
    one?.change({ ...job, epoch: 7 }, { to: 'PROCESSING_INPUTS' }, [], roomFor(job, SYSTEM)),
  ).rejects.toMatchObject({ name: 'JobLost' });
  expect((await fixture.history('j1')).filter((entry) => entry.startsWith('PROCESSING'))).toHaveLength(1);
});
