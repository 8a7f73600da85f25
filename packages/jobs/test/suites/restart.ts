import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ActiveStatus } from '../../src/status.js';
import { WRAPPER_FILES } from '../../src/systems/wrapper.js';
import type { Job } from '../../src/types.js';
import { newJob } from '../support/jobs.js';
import type { WorkerFixture } from '../support/worker-fixture.js';

/** @param whole Also what does not depend on how messages come. */
export function restartSuite(open: () => Promise<WorkerFixture>, { whole }: { readonly whole: boolean }): void {
  /** A worker that is gone: nobody has its lease. */
  const DEAD = 'dead-065';

  /** What a worker does with a job that another left, by its status (sheet §3.4). */
  describe('a restarted worker', () => {
    let fixture: WorkerFixture;
    let work: string;

    beforeEach(async () => {
      fixture = await open();
      work = join(fixture.systems.get('hpc1').system.root, 'work/jdoe/job-j1-demo');
    });

    afterEach(() => fixture.close());

    async function left(status: ActiveStatus, given: Partial<Job> = {}): Promise<void> {
      const early = status === 'PENDING';
      const job = await fixture.fixture.job('j1', status, {
        worker: DEAD,
        epoch: 7,
        workPath: early ? null : work,
        ...given,
      });
      await fixture.process();
      await fixture.publish(job);
    }

    /** Statuses that the new worker gave it. */
    async function given(before: number): Promise<readonly string[]> {
      return (await fixture.history('j1')).slice(before).map((line) => line.split(':')[0] ?? '');
    }

    const put = (path: string, text: string): void => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };

    test('§3.4 row 1, row absent: inserts it and starts at PENDING', async () => {
      await fixture.process();
      await fixture.publish(newJob('j1'));
      await fixture.status('j1', 'FINISHED');
      expect((await fixture.history('j1')).slice(0, 3).map((line) => line.split(':')[0])).toEqual([
        'ACCEPTED',
        'PENDING',
        'PROCESSING_INPUTS',
      ]);
    });

    if (whole) {
      test('§3.4 row 2, PENDING: validates again, and quotas', async () => {
        await left('PENDING');
        const job = await fixture.status('j1', 'FINISHED');
        expect(await given(2)).toEqual([
          ...['PROCESSING_INPUTS', 'STAGING_JOB', 'SUBMITTING', 'QUEUED', 'CLEANING_UP', 'FINISHED'],
        ]);
        expect(job).toMatchObject({ epoch: 8, workPath: work });
        expect(job.worker).not.toBe(DEAD);
      });

      test('§3.4 row 3, PROCESSING_INPUTS: makes directories that are there again', async () => {
        mkdirSync(work, { recursive: true });
        await left('PROCESSING_INPUTS');
        await fixture.status('j1', 'FINISHED');
        expect(await given(3)).toEqual(['STAGING_JOB', 'SUBMITTING', 'QUEUED', 'CLEANING_UP', 'FINISHED']);
      });

      test('§3.4 row 4, STAGING_INPUTS: what is there whole is kept, the rest is transferred', async () => {
        const store = fixture.systems.get('store').system.root;
        put(join(store, 'in/whole.txt'), 'whole');
        put(join(store, 'in/part.txt'), 'a longer text');
        put(join(work, 'whole.txt'), 'WHOLE');
        put(join(work, 'part.txt'), 'a lon');
        fixture.scheduler.state = { state: 'queued' };
        await left('STAGING_INPUTS', { inputs: { a: 'agave://store/in/whole.txt', b: 'agave://store/in/part.txt' } });
        await fixture.status('j1', 'QUEUED');
        // By its size it was brought whole before: it is not brought again.
        expect(readFileSync(join(work, 'whole.txt'), 'utf8')).toBe('WHOLE');
        expect(readFileSync(join(work, 'part.txt'), 'utf8')).toBe('a longer text');
      });

      test.each(['STAGED', 'STAGING_JOB'] as const)(
        '§3.4 row 5, %s: stages what the app needs again, over what is there',
        async (status) => {
          put(join(work, WRAPPER_FILES.program), 'half of a progr');
          fixture.scheduler.state = { state: 'queued' };
          await left(status);
          await fixture.status('j1', 'QUEUED');
          expect(readFileSync(join(work, WRAPPER_FILES.program), 'utf8')).toBe('#!/bin/sh\nexec /bin/true\n');
          expect(statSync(join(work, WRAPPER_FILES.program)).mode & 0o777).toBe(0o700);
          expect(fixture.scheduler.submits).toHaveLength(1);
        },
      );

      test('§3.4 row 6, SUBMITTING with a remote id: does not submit', async () => {
        mkdirSync(work, { recursive: true });
        await left('SUBMITTING', { remoteJobId: 'r9' });
        const job = await fixture.status('j1', 'FINISHED');
        expect(fixture.scheduler.submits).toHaveLength(0);
        expect(job.remoteJobId).toBe('r9');
      });

      test('§3.4 row 6, SUBMITTING, and it was submitted: it is found, and not submitted again', async () => {
        mkdirSync(work, { recursive: true });
        fixture.scheduler.started.set('j1', 'r5');
        await left('SUBMITTING');
        const job = await fixture.status('j1', 'FINISHED');
        expect(fixture.scheduler.submits).toHaveLength(0);
        expect(job.remoteJobId).toBe('r5');
      });

      test('§3.4 row 6, SUBMITTING, and nothing is known of it: it is submitted', async () => {
        mkdirSync(work, { recursive: true });
        await left('SUBMITTING');
        await fixture.status('j1', 'FINISHED');
        expect(fixture.scheduler.submits).toHaveLength(1);
      });

      test.each(['QUEUED', 'RUNNING'] as const)('§3.4 row 7, %s: goes on watching by the remote id', async (status) => {
        mkdirSync(work, { recursive: true });
        await left(status, { remoteJobId: 'r9' });
        await fixture.status('j1', 'FINISHED');
        expect(fixture.scheduler.submits).toHaveLength(0);
        expect(fixture.scheduler.looks).toEqual(['j1']);
      });

      test('§3.4 row 7, RUNNING with an outcome: goes on without a look', async () => {
        mkdirSync(work, { recursive: true });
        await left('RUNNING', { remoteJobId: 'r9', remoteOutcome: 'FINISHED', exitCode: 0 });
        await fixture.status('j1', 'FINISHED');
        expect(fixture.scheduler.looks).toEqual([]);
      });

      test.each(['CLEANING_UP', 'ARCHIVING'] as const)('§3.4 row 8, %s: is done again', async (status) => {
        put(join(work, 'out/result.txt'), 'made');
        put(join(work, WRAPPER_FILES.program), '');
        const store = fixture.systems.get('store').system.root;
        put(join(store, 'kept/out/result.txt'), 'ma');
        await left(status, {
          remoteOutcome: 'FINISHED',
          archive: true,
          archiveSystem: 'store',
          archivePath: 'kept',
        });
        await fixture.status('j1', 'FINISHED');
        expect(readFileSync(join(store, 'kept/out/result.txt'), 'utf8')).toBe('made');
        expect(existsSync(join(store, 'kept', WRAPPER_FILES.program))).toBe(false);
      });
    }

    test('§3.4 row 9, BLOCKED: is recovery’s, and the message is removed', async () => {
      const job = await fixture.fixture.job('j1', 'QUEUED', { worker: null, workPath: work, remoteJobId: 'r9' });
      await fixture.fixture.jobs.change(job, { to: 'BLOCKED', condition: 'CONNECTION_FAILURE' });
      const { logged } = await fixture.process();
      await fixture.publish(job);
      await fixture.until(() => logged.some(({ message }) => message === 'JOBS_INACTIVE_JOB_REMOVED'));
      await fixture.until(async () => (await fixture.depth()) === 0);
      expect(await fixture.read('j1')).toMatchObject({ status: 'BLOCKED', epoch: 0 });
      expect(fixture.scheduler.looks).toEqual([]);
    });

    test.each(['FINISHED', 'STOPPED', 'FAILED'] as const)('§3.4 row 10, %s: the message is removed', async (end) => {
      const job = await fixture.fixture.job('j1', 'ARCHIVING');
      await fixture.fixture.jobs.change(job, { to: end });
      const before = await fixture.history('j1');
      const { logged } = await fixture.process();
      await fixture.publish(job);
      await fixture.until(() => logged.some(({ message }) => message === 'JOBS_INACTIVE_JOB_REMOVED'));
      await fixture.until(async () => (await fixture.depth()) === 0);
      expect(await fixture.history('j1')).toEqual(before);
    });

    test('a job that was refused is not run, whatever became of its message', async () => {
      await fixture.fixture.store.transact((trx) =>
        trx.insertInto('job_refusals').values({ uuid: 'j1', at: 0 }).execute(),
      );
      await fixture.process();
      await fixture.publish(newJob('j1'));
      await fixture.until(async () => (await fixture.depth()) === 0);
      expect(await fixture.fixture.jobs.find('j1')).toBeNull();
    });

    test('what cannot be read is a dead letter', async () => {
      const { broker } = await fixture.process();
      await broker.publish({
        exchange: 'aloe.jobq.portals.submit.Exchange',
        key: newJob('x').queue,
        body: '{"msgType":"NO"}',
      });
      await broker.publish({ exchange: 'aloe.jobq.portals.submit.Exchange', key: newJob('x').queue, body: 'rubbish' });
      await fixture.publish(newJob('j2', { orgId: 'o2' }));
      await fixture.until(async () => (await fixture.depth('aloe.jobq.AllTenants.dead.Queue')) === 3);
    });
  });
}
