import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ActiveStatus } from '../../src/status.js';
import type { Files } from '../../src/systems/types.js';
import { openWorkers, type WorkerFixture } from '../support/worker-fixture.js';

describe('what is asked of a job that a worker has', () => {
  let fixture: WorkerFixture;

  beforeEach(async () => {
    fixture = await openWorkers();
  });

  afterEach(() => fixture.close());

  const work = (): string => join(fixture.systems.get('hpc1').system.root, 'work/jdoe/job-j1-demo');

  /** What waits until it is let go on. */
  function gate(): { readonly open: () => void; readonly reached: Promise<void>; pass(): Promise<void> } {
    let open: () => void = () => undefined;
    let reach: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const reached = new Promise<void>((resolve) => (reach = resolve));
    return {
      open,
      reached,
      pass: () => {
        reach();
        return opened;
      },
    };
  }

  test.each(['stop', 'pause'] as const)('%s while the program runs', async (wanted) => {
    fixture.scheduler.state = { state: 'running' };
    await fixture.process();
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    await fixture.want('j1', wanted);
    const job = await fixture.status('j1', wanted === 'stop' ? 'STOPPED' : 'PAUSED');
    await fixture.until(async () => (await fixture.depth()) === 0);
    expect(job.wanted).toBeNull();
    const [last = ''] = (await fixture.history('j1')).slice(-1);
    expect(last.split(':')[0]).toBe(job.status);
    if (wanted === 'stop') {
      expect(fixture.scheduler.killed).toEqual(['j1']);
      await fixture.until(async () => (await fixture.read('j1')).remoteEnded !== null);
    } else {
      // It goes on there, and is found again.
      expect(fixture.scheduler.killed).toEqual([]);
      expect(job).toMatchObject({ resumeAt: 'RUNNING', worker: null, remoteJobId: 'r1' });
    }
  });

  test('§9.2: EMPTY_STATUS_RESPONSE stands in the history of the job, and is told to who subscribed to it', async () => {
    fixture.scheduler.state = { state: 'running' };
    await fixture.process();
    const hook = { event: 'EMPTY_STATUS_RESPONSE', url: 'http://hook/', persistent: true };
    await fixture.submit('j1', { request: JSON.stringify({ notifications: [hook] }) });
    await fixture.status('j1', 'RUNNING');
    fixture.scheduler.set('j1', { state: 'lost' });
    const { read } = fixture.fixture.store;
    const told = () => read.selectFrom('deliveries').select(['event', 'url']).execute();
    await fixture.until(async () => (await told()).length > 0);
    expect(await told()).toEqual([{ event: 'EMPTY_STATUS_RESPONSE', url: 'http://hook/' }]);
    const says = await read
      .selectFrom('job_history')
      .select(['status', 'description'])
      .where('event', '=', hook.event)
      .execute();
    expect(says).toEqual([{ status: 'RUNNING', description: 'hpc1 says nothing of r1: it is asked again' }]);
  });

  test('who asked stands in the history', async () => {
    fixture.scheduler.state = { state: 'running' };
    await fixture.process();
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    await fixture.want('j1', 'stop');
    await fixture.status('j1', 'STOPPED');
    const rows = await fixture.fixture.store.read.selectFrom('job_history').select(['event', 'by']).execute();
    expect(rows).toContainEqual({ event: 'STOPPED', by: 'anna' });
  });

  /** What is put into the store for the two phases that transfer. */
  function bigFile(): Record<string, unknown> {
    const { root } = fixture.systems.get('store').system;
    mkdirSync(join(root, 'in'), { recursive: true });
    writeFileSync(join(root, 'in/a.bin'), Buffer.alloc(100_000));
    return { inputs: { a: 'agave://store/in/a.bin' }, archive: true, archiveSystem: 'store', archivePath: 'kept' };
  }

  const UNTIL: readonly ActiveStatus[] = [
    'PENDING',
    'PROCESSING_INPUTS',
    'STAGING_INPUTS',
    'STAGED',
    'STAGING_JOB',
    'SUBMITTING',
    'QUEUED',
    'RUNNING',
    'CLEANING_UP',
    'ARCHIVING',
  ];

  test.each([
    ['stop', 'STOPPED'],
    ['pause', 'PAUSED'],
  ] as const)(
    '§6.3.6: %s that is stored while its program runs, and whose message is lost, is obeyed when its looks are stored',
    async (wanted, becomes) => {
      fixture.scheduler.state = { state: 'running' };
      await fixture.process();
      await fixture.submit('j1');
      await fixture.status('j1', 'RUNNING');
      await fixture.want('j1', wanted, { told: false });
      // Every five minutes.
      await fixture.pass(6 * 60_000);
      await fixture.status('j1', becomes);
    },
  );

  test.each(UNTIL)(
    '§6.3.6: stop that is stored in %s, and whose message is lost, is obeyed at the next write',
    async (status) => {
      const given = bigFile();
      mkdirSync(work(), { recursive: true });
      const job = await fixture.fixture.job('j1', status, {
        ...given,
        ...(status !== 'PENDING' && { workPath: work() }),
        ...(['QUEUED', 'RUNNING', 'CLEANING_UP', 'ARCHIVING'].includes(status) && { remoteJobId: 'r1' }),
      });
      await fixture.want('j1', 'stop', { told: false });
      await fixture.process();
      await fixture.publish(job);
      await fixture.status('j1', 'STOPPED');
      await fixture.until(async () => (await fixture.depth()) === 0);
      expect(fixture.scheduler.submits).toEqual([]);
      expect(fixture.scheduler.killed).toEqual(['SUBMITTING', 'QUEUED', 'RUNNING'].includes(status) ? ['j1'] : []);
    },
  );

  test.each(UNTIL)(
    '§6.3.6: pause that is stored in %s, and whose message is lost, is obeyed at the next write, and nothing is begun',
    async (status) => {
      const given = bigFile();
      mkdirSync(work(), { recursive: true });
      const remoteJobId = ['QUEUED', 'RUNNING', 'CLEANING_UP', 'ARCHIVING'].includes(status) ? 'r1' : null;
      const workPath = status === 'PENDING' ? null : work();
      const job = await fixture.fixture.job('j1', status, { ...given, workPath, remoteJobId });
      await fixture.want('j1', 'pause', { told: false });
      await fixture.process();
      await fixture.publish(job);
      const paused = await fixture.status('j1', 'PAUSED');
      expect(paused).toMatchObject({ resumeAt: status, wanted: null, worker: null, remoteJobId });
      await fixture.until(async () => (await fixture.depth()) === 0);
      expect([fixture.scheduler.submits, fixture.scheduler.killed, fixture.scheduler.looks]).toEqual([[], [], []]);
      const { root } = fixture.systems.get('store').system;
      expect([existsSync(join(work(), 'a.bin')), existsSync(join(root, 'kept'))]).toEqual([false, false]);
      const rows = await fixture.fixture.store.read.selectFrom('job_history').select(['event', 'by']).execute();
      expect(rows).toContainEqual({ event: 'PAUSED', by: 'anna' });
    },
  );

  test.each(['stop', 'pause'] as const)('§6.4: %s ends a transfer of inputs at once', async (wanted) => {
    const given = bigFile();
    const begun = gate();
    let read = 0;
    fixture.systems.add('store', {}, (files: Files) =>
      Object.assign(Object.create(files) as Files, {
        stat: (path: string) => files.stat(path),
        read: async () => {
          read += 1;
          void begun.pass();
          return read === 1 ? new PassThrough() : files.read(join(fixture.systems.root, 'store/in/a.bin'));
        },
      }),
    );
    await fixture.process();
    await fixture.submit('j1', given);
    await begun.reached;
    await fixture.want('j1', wanted);
    const job = await fixture.status('j1', wanted === 'stop' ? 'STOPPED' : 'PAUSED');
    expect(job.resumeAt).toBe(wanted === 'stop' ? null : 'STAGING_INPUTS');
    expect(existsSync(join(work(), 'a.bin'))).toBe(false);
    await fixture.until(async () => (await fixture.depth()) === 0);
  });

  test('§6.4: stop while it is submitted: what was submitted is stored, then ended', async () => {
    const submitting = gate();
    fixture.scheduler.onSubmit = () => submitting.pass();
    await fixture.process();
    await fixture.submit('j1');
    await submitting.reached;
    await fixture.want('j1', 'stop');
    await fixture.settle();
    submitting.open();
    const job = await fixture.status('j1', 'STOPPED');
    expect(job.remoteJobId).toBe('r1');
    await fixture.until(() => fixture.scheduler.killed.length === 1);
    expect(fixture.scheduler.submits).toHaveLength(1);
  });

  test('§6.4: stop comes before recovery', async () => {
    await fixture.process();
    fixture.scheduler.onSubmit = async ({ uuid }) => {
      await fixture.want(uuid, 'stop', { told: false });
      fixture.systems.trouble('hpc1', 'CONNECTION_FAILURE');
      throw fixture.systems.troubles.get('hpc1');
    };
    await fixture.submit('j1');
    const job = await fixture.status('j1', 'STOPPED');
    expect(job.blockedCount).toBe(0);
    await fixture.until(async () => (await fixture.depth()) === 0);
  });

  test('a kill that cannot be confirmed is left to recovery, and history says so', async () => {
    fixture.scheduler.state = { state: 'running' };
    fixture.scheduler.killAnswer = 'unsure';
    await fixture.process();
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    await fixture.want('j1', 'stop');
    await fixture.status('j1', 'STOPPED');
    await fixture.until(async () => (await fixture.history('j1')).some((line) => line.includes('JOBS_CMD_KILL_ERROR')));
    const waiting = await fixture.fixture.store.read.selectFrom('job_blocked').select(['uuid', 'state']).execute();
    expect(waiting).toEqual([{ uuid: 'j1', state: 'killing' }]);
    expect((await fixture.read('j1')).remoteEnded).toBeNull();
    await fixture.until(async () => (await fixture.depth()) === 0);
  });

  test('a kill that is confirmed leaves nothing to recovery', async () => {
    fixture.scheduler.state = { state: 'running' };
    await fixture.process();
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    await fixture.want('j1', 'stop');
    await fixture.until(async () => (await fixture.read('j1')).remoteEnded !== null);
    expect(await fixture.fixture.store.read.selectFrom('job_blocked').select('uuid').execute()).toEqual([]);
  });

  test('a resumed job goes on where it was paused, and its program was never started again', async () => {
    fixture.scheduler.state = { state: 'running' };
    await fixture.process();
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    await fixture.want('j1', 'pause');
    const paused = await fixture.status('j1', 'PAUSED');
    // As the recovery reader releases it.
    await fixture.fixture.jobs.change(paused, { to: paused.resumeAt ?? 'PENDING' });
    await fixture.publish(paused, 'resumed');
    await fixture.until(async () => (await fixture.read('j1')).epoch === 2);
    fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
    await fixture.status('j1', 'FINISHED');
    expect(fixture.scheduler.submits).toHaveLength(1);
  });

  test('§6.3.3: a message that is no command is logged, and does nothing', async () => {
    fixture.scheduler.state = { state: 'running' };
    const { broker, logged } = await fixture.process();
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    const exchange = 'aloe.jobq.portals.cmd.Exchange';
    for (const body of ['{"msgType":"JOB_DANCE"}', '{"msgType":"JOB_STATUS","correlationId":"c"}']) {
      await broker.publish({ exchange, key: 'aloe.jobq.cmd.worker.jid.j1', body });
    }
    const said = (text: string) => logged.some(({ message }) => message === text);
    await fixture.until(() => said('JOBS_CMD_MSG_ERROR') && said('JOBS_CMD_MSG_RECEIVED'));
    expect((await fixture.read('j1')).status).toBe('RUNNING');
  });
});
