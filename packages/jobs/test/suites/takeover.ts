import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Process, WorkerFixture } from '../support/worker-fixture.js';

/** A job that runs at a worker. */
export async function runningAt(fixture: WorkerFixture): Promise<Process> {
  fixture.scheduler.state = { state: 'running' };
  const process = await fixture.process('w1');
  await fixture.submit('j1');
  await fixture.status('j1', 'RUNNING');
  return process;
}

export function takeoverSuite(open: () => Promise<WorkerFixture>): void {
  describe('a worker that is gone', () => {
    let fixture: WorkerFixture;

    beforeEach(async () => {
      fixture = await open();
    });

    afterEach(() => fixture.close());

    test('is replaced when its lease has ended: the job goes on where it was, and is not started again', async () => {
      const first = await runningAt(fixture);
      const before = await fixture.read('j1');
      first.reach = 'cut';
      await fixture.process('w2');
      await fixture.passUntil(async () => (await fixture.read('j1')).worker !== before.worker, 'take-over');
      expect(await fixture.read('j1')).toMatchObject({ status: 'RUNNING', epoch: before.epoch + 1, remoteJobId: 'r1' });
      fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
      await fixture.status('j1', 'FINISHED');
      expect(fixture.scheduler.submits).toHaveLength(1);
      await fixture.until(async () => (await fixture.depth()) === 0);
    });

    test('is replaced for all that it had, however much that was', async () => {
      const uuids = Array.from({ length: 40 }, (_, n) => `j${n}`);
      fixture.scheduler.state = { state: 'running' };
      const first = await fixture.process('w1', { slots: 40 });
      for (const uuid of uuids) await fixture.submit(uuid);
      for (const uuid of uuids) await fixture.status(uuid, 'RUNNING');
      first.reach = 'cut';
      fixture.scheduler.state = { state: 'ended', code: 0, condition: null, detail: '' };
      const next = [await fixture.process('w2', { slots: 20 }), await fixture.process('w3', { slots: 20 })];
      for (const uuid of uuids) {
        await fixture.passUntil(async () => (await fixture.read(uuid)).status === 'FINISHED', `the end of ${uuid}`);
      }
      expect(fixture.scheduler.submits).toHaveLength(40);
      const faults = next.flatMap(({ logged }) => logged).filter(({ message }) => message.startsWith('ALOE_THREAD'));
      expect(faults).toEqual([]);
    });

    test('loses nothing by a job that was submitted and could not be stored: it is found, not submitted again', async () => {
      const first = await fixture.process('w1');
      fixture.scheduler.state = { state: 'running' };
      fixture.scheduler.afterSubmit = () => {
        first.reach = 'cut';
      };
      await fixture.submit('j1');
      await fixture.until(() => first.reach === 'cut', 'submission');
      fixture.scheduler.afterSubmit = () => undefined;
      expect((await fixture.read('j1')).status).toBe('SUBMITTING');
      await fixture.process('w2');
      await fixture.passUntil(async () => (await fixture.read('j1')).status === 'RUNNING', 'take-over');
      expect(fixture.scheduler.submits).toHaveLength(1);
      expect((await fixture.read('j1')).remoteJobId).toBe('r1');
    });

    test('a database that is away for a while costs no job: the worker goes on when it is back', async () => {
      const first = await runningAt(fixture);
      first.reach = 'away';
      await fixture.pass(30_000);
      first.reach = 'whole';
      fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
      await fixture.pass(15_000);
      const job = await fixture.status('j1', 'FINISHED');
      expect(job.epoch).toBe(1);
      expect(fixture.scheduler.submits).toHaveLength(1);
    });
  });

  describe('a message of a job that another worker has', () => {
    let fixture: WorkerFixture;

    beforeEach(async () => {
      fixture = await open();
      fixture.scheduler.state = { state: 'running' };
    });

    afterEach(() => fixture.close());

    test('is not taken by a worker whose clock is ahead, so that the lease of the other seems to be over', async () => {
      await fixture.process('w1', { slots: 1 });
      const job = await fixture.submit('j1');
      const { worker } = await fixture.status('j1', 'RUNNING');
      await fixture.process('w2', { skewMs: 140_000 });
      await fixture.publish(job, 'copy');
      await fixture.until(async () => (await fixture.depth()) === 2, 'the copy');
      await fixture.pass(20_000);
      expect(await fixture.read('j1')).toMatchObject({ status: 'RUNNING', epoch: 1, worker });
      fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
      await fixture.status('j1', 'FINISHED');
      expect(fixture.scheduler.submits).toHaveLength(1);
    });

    test('is handed to that worker once it is seen to live, and takes no slot', async () => {
      const first = await fixture.process('w1', { slots: 1 });
      const job = await fixture.submit('j1');
      await fixture.status('j1', 'RUNNING');
      const second = await fixture.process('w2', { slots: 1 });
      await fixture.publish(job, 'copy');
      await fixture.until(async () => (await fixture.depth()) === 2, 'the copy');
      expect(first.worker.running + second.worker.running).toBe(1);
      await fixture.passUntil(async () => (await fixture.depth()) === (fixture.countsCopies ? 2 : 1), 'handing over');
      await fixture.submit('j2');
      await fixture.status('j2', 'RUNNING');
      expect([first.worker.running, second.worker.running]).toEqual([1, 1]);
      expect((await fixture.read('j1')).epoch).toBe(1);
      for (const uuid of ['j1', 'j2']) {
        fixture.scheduler.set(uuid, { state: 'ended', code: 0, condition: null, detail: '' });
        await fixture.status(uuid, 'FINISHED');
      }
      await fixture.pass(10_000);
      await fixture.until(async () => (await fixture.depth()) === 0, 'an empty queue');
      expect(fixture.scheduler.submits).toHaveLength(2);
    });

    test('waits beside it in the same worker, and is removed when the job is over', async () => {
      const { worker } = await fixture.process('w1', { slots: 2 });
      const job = await fixture.submit('j1');
      await fixture.status('j1', 'RUNNING');
      await fixture.publish(job, 'copy');
      await fixture.submit('j2');
      await fixture.status('j2', 'RUNNING');
      expect(worker.running).toBe(2);
      fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
      await fixture.status('j1', 'FINISHED');
      fixture.scheduler.set('j2', { state: 'ended', code: 0, condition: null, detail: '' });
      await fixture.status('j2', 'FINISHED');
      await fixture.until(async () => (await fixture.depth()) === 0, 'an empty queue');
      expect(fixture.scheduler.submits).toHaveLength(2);
    });
  });
}
