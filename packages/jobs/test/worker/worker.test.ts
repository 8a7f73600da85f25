import { MusterError } from '@muster/base/errors';
import { correlationEventKey, namesOf } from '@muster/broker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PACES } from '../../src/worker/limits.js';
import { leaseName } from '../../src/worker/tenure.js';
import { newJob, ORG, QUEUE } from '../support/jobs.js';
import { newApp, openWorkers, type WorkerFixture } from '../support/worker-fixture.js';

const ENDED = { state: 'ended', code: 0, condition: null, detail: '' } as const;

describe('a worker', () => {
  let fixture: WorkerFixture;

  beforeEach(async () => {
    fixture = await openWorkers();
    fixture.scheduler.state = { state: 'running' };
  });

  afterEach(() => fixture.close());

  async function worker(process: Awaited<ReturnType<WorkerFixture['process']>>) {
    void process;
    return fixture.fixture.store.read.selectFrom('job_workers').selectAll().executeTakeFirstOrThrow();
  }

  test('takes as many jobs as it has slots', async () => {
    const { worker } = await fixture.process('w1', { slots: 2 });
    for (const uuid of ['j1', 'j2', 'j3']) await fixture.submit(uuid);
    await fixture.until(() => worker.running === 2);
    await fixture.settle();
    expect(worker.running).toBe(2);
    const waiting = async () => (await fixture.read('j3')).status;
    await fixture.until(async () => (await fixture.read('j2')).status === 'RUNNING');
    expect(await waiting()).toBe('ACCEPTED');
    fixture.scheduler.set('j1', ENDED);
    await fixture.status('j3', 'RUNNING');
  });

  test('§6.6: that ends gives its jobs back at once: another one takes them without waiting', async () => {
    const first = await fixture.process('w1');
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    await fixture.process('w2');
    await first.worker.stop();
    // No time has passed.
    await fixture.until(async () => (await fixture.read('j1')).epoch === 2, 'take-over');
    expect(fixture.scheduler.submits).toHaveLength(1);
    const rows = await fixture.fixture.store.read.selectFrom('job_workers').select(['name', 'state']).execute();
    expect(rows).toContainEqual({ name: 'w1', state: 'stopped' });
  });

  test('§5.5: answers WKR_STATUS with WKR_STATUS_RESP', async () => {
    const process = await fixture.process('w1');
    const row = await worker(process);
    const answers: string[] = [];
    const topic = { name: 'answers', exchange: namesOf(ORG.name).eventExchange, keys: [correlationEventKey('c1')] };
    let begun = false;
    process.broker.subscribe(topic, (message) => {
      if (message === null) begun = true;
      else answers.push(message.body.toString());
    });
    await fixture.until(() => begun);
    await fixture.command(row.uuid, { msgType: 'WKR_STATUS', correlationId: 'c1', senderId: 'test' });
    await fixture.until(() => answers.length === 1);
    expect(JSON.parse(answers[0] ?? '')).toMatchObject({
      msgType: 'WKR_STATUS_RESP',
      correlationId: 'c1',
      workerUuid: row.uuid,
      workerParms: { name: 'w1', queue: QUEUE, slots: 4 },
      state: 'running',
      throttleLimit: 50,
      throttleWindowSeconds: 300,
      shuttingDown: false,
    });
    expect(row.uuid).toMatch(/-065$/);
  });

  test('§5.5: WKR_SHUTDOWN ends it; one that names another worker is ignored', async () => {
    const process = await fixture.process('w1');
    const { uuid } = await worker(process);
    await fixture.command(uuid, { msgType: 'WKR_SHUTDOWN', workerUuid: 'other-065' });
    await fixture.until(() => process.logged.some(({ message }) => message.startsWith('JOBS_WORKER_IGNORE_CMD')));
    expect(process.worker.state).toBe('running');
    await fixture.command(uuid, { msgType: 'WKR_SHUTDOWN', workerUuid: uuid });
    await fixture.until(() => process.ended.length === 1);
    expect(process.ended).toEqual(['told']);
    expect((await worker(process)).state).toBe('stopped');
  });

  test('WKR_SHUTDOWN_QUIESCE: takes nothing more, and ends when what it has is over', async () => {
    const process = await fixture.process('w1');
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    const { uuid } = await worker(process);
    await fixture.command(uuid, { msgType: 'WKR_SHUTDOWN_QUIESCE' });
    await fixture.until(() => process.worker.state === 'quiescing');
    await fixture.submit('j2');
    await fixture.settle();
    expect((await fixture.read('j2')).status).toBe('ACCEPTED');
    expect(process.ended).toEqual([]);
    fixture.scheduler.set('j1', ENDED);
    await fixture.until(() => process.ended.length === 1);
    expect((await fixture.read('j1')).status).toBe('FINISHED');
    expect((await fixture.read('j2')).status).toBe('ACCEPTED');
  });

  test('WKR_SUSPEND and WKR_RESUME: takes nothing in between, and goes on with what it has', async () => {
    const process = await fixture.process('w1');
    await fixture.submit('j1');
    await fixture.status('j1', 'RUNNING');
    const { uuid } = await worker(process);
    await fixture.command(uuid, { msgType: 'WKR_SUSPEND' });
    await fixture.until(async () => (await worker(process)).state === 'suspended');
    await fixture.submit('j2');
    fixture.scheduler.set('j1', ENDED);
    await fixture.status('j1', 'FINISHED');
    expect((await fixture.read('j2')).status).toBe('ACCEPTED');
    await fixture.command(uuid, { msgType: 'WKR_RESUME' });
    await fixture.status('j2', 'RUNNING');
  });

  test('§6.5: of a burst ten begin at once, each of the others waits once for a random time', async () => {
    const process = await fixture.process('w1', {
      slots: 20,
      paces: { ...PACES, launches: { limit: 1e9, windowMs: 1 } },
    });
    const uuids = Array.from({ length: 14 }, (_, n) => `j${n}`);
    for (const uuid of uuids) await fixture.submit(uuid);
    const at = async (status: string) => {
      const jobs = await Promise.all(uuids.map((uuid) => fixture.read(uuid)));
      return jobs.filter((job) => job.status === status).length;
    };
    const delayed = () => process.logged.filter(({ message }) => message === 'JOBS_DELAYED_START').length;
    await fixture.until(async () => (await at('RUNNING')) === 10 && (await at('PENDING')) === 4 && delayed() >= 4);
    expect(delayed()).toBe(4);
    await fixture.pass(3_500);
    await fixture.until(async () => (await at('RUNNING')) === 14);
  });

  test('§6.5: programs of one host start ten in two seconds', async () => {
    const process = await fixture.process('w1', {
      slots: 20,
      paces: { ...PACES, starts: { limit: 1e9, windowMs: 1 } },
    });
    const uuids = Array.from({ length: 12 }, (_, n) => `j${n}`);
    for (const uuid of uuids) await fixture.submit(uuid);
    await fixture.until(() => fixture.scheduler.submits.length === 10);
    await fixture.until(() => process.logged.filter(({ message }) => message === 'JOBS_DELAYED_LAUNCH').length === 2);
    expect(fixture.scheduler.submits).toHaveLength(10);
    await fixture.pass(3_500);
    await fixture.until(() => fixture.scheduler.submits.length === 12);
  });

  test('§6.5: too many faults in too short a time end it', async () => {
    const process = await fixture.process('w1', { paces: { ...PACES, restarts: { limit: 2, windowMs: 300_000 } } });
    process.reach = 'faulty';
    for (const n of [1, 2]) await fixture.publish(newJob(`j${n}`));
    const restarts = () => process.logged.filter(({ message }) => message === 'ALOE_THREAD_RESTART').length;
    await fixture.until(() => restarts() === 2);
    expect(process.ended).toEqual([]);
    await fixture.publish(newJob('j3'));
    await fixture.until(() => process.ended.length === 1);
    expect(process.ended).toEqual(['faults']);
    expect(process.logged.map(({ message }) => message)).toContain('ALOE_TOO_MANY_RESTARTS_TERMINATION');
  });

  test('§6.9: a job over a limit of its system is blocked, the others run', async () => {
    const { system } = fixture.systems.get('hpc1');
    Object.assign(system, { maxJobs: 3, maxJobsPerUser: 2 });
    await fixture.process('w1', { slots: 9 });
    for (const uuid of ['a1', 'a2', 'a3']) await fixture.submit(uuid, { owner: 'anna' });
    const jobs = () => Promise.all(['a1', 'a2', 'a3'].map((uuid) => fixture.read(uuid)));
    const count = async (status: string) => (await jobs()).filter((job) => job.status === status).length;
    await fixture.until(async () => (await count('RUNNING')) === 2 && (await count('BLOCKED')) === 1);
    const blocked = (await jobs()).find(({ status }) => status === 'BLOCKED');
    expect(blocked).toMatchObject({ condition: 'QUOTA_EXCEEDED', resumeAt: 'PENDING', worker: null, blockedCount: 1 });
    expect(blocked?.lastMessage).toMatch(/^JOBS_QUOTA_MAX_USER_JOBS 2 jobs of anna/);
    await fixture.submit('b1', { owner: 'berta' });
    await fixture.status('b1', 'RUNNING');
    await fixture.submit('c1', { owner: 'carl' });
    const full = await fixture.status('c1', 'BLOCKED');
    expect(full.lastMessage).toMatch(/^JOBS_QUOTA_MAX_JOBS 3 jobs run on hpc1/);
  });

  test('§6.9: limits of a batch queue, of all and of one user', async () => {
    const { system } = fixture.systems.get('hpc1');
    Object.assign(system, { queues: [{ name: 'normal', maxJobs: 2, maxUserJobs: 1 }] });
    await fixture.process('w1', { slots: 9 });
    const given = (owner: string) => ({ owner, remoteQueue: 'normal' });
    await fixture.submit('a1', given('anna'));
    await fixture.status('a1', 'RUNNING');
    await fixture.submit('a2', given('anna'));
    expect((await fixture.status('a2', 'BLOCKED')).lastMessage).toMatch(
      /^JOBS_QUOTA_MAX_USER_QUEUE_JOBS 1 jobs of anna/,
    );
    await fixture.submit('b1', given('berta'));
    await fixture.status('b1', 'RUNNING');
    await fixture.submit('c1', given('carl'));
    expect((await fixture.status('c1', 'BLOCKED')).lastMessage).toMatch(
      /^JOBS_QUOTA_MAX_QUEUE_JOBS 2 jobs in the queue/,
    );
    await fixture.submit('d1', { owner: 'anna' });
    await fixture.status('d1', 'RUNNING');
  });

  test('§6.8: trouble of a system blocks the job in the same transaction, and recovery is woken', async () => {
    fixture.systems.trouble('hpc1', 'CONNECTION_FAILURE');
    await fixture.process('w1');
    await fixture.submit('j1');
    const job = await fixture.status('j1', 'BLOCKED');
    expect(job).toMatchObject({ condition: 'CONNECTION_FAILURE', blockedCount: 1, resumeAt: 'PENDING' });
    const rows = await fixture.fixture.store.read
      .selectFrom('job_blocked')
      .select(['uuid', 'success_status'])
      .execute();
    expect(rows).toEqual([{ uuid: 'j1', success_status: 'PENDING' }]);
    await fixture.until(async () => (await fixture.depth()) === 0);
    await fixture.until(async () => (await fixture.depth(namesOf(ORG.name).recoveryQueue)) === 1);
  });

  test('§6.8: a fault of Muster fails the job, and says what it was', async () => {
    fixture.scheduler.onSubmit = () => {
      throw new TypeError('this was not expected');
    };
    const { logged } = await fixture.process('w1');
    await fixture.submit('j1');
    const job = await fixture.status('j1', 'FAILED');
    expect(job).toMatchObject({ condition: 'JOB_INTERNAL_ERROR' });
    expect(job.lastMessage).toContain('this was not expected');
    expect(logged.map(({ message }) => message)).toContain('JOBS_WORKER_PROCESSING_ERROR');
    await fixture.until(async () => (await fixture.depth()) === 0);
  });

  test('an app that is disabled blocks its jobs; one that is gone fails them', async () => {
    fixture.apps.set('wc-1.0', newApp({ enabled: false }));
    await fixture.process('w1');
    await fixture.submit('j1');
    expect((await fixture.status('j1', 'BLOCKED')).condition).toBe('APPLICATION_NOT_AVAILABLE');
    await fixture.submit('j2', { appId: 'gone-1.0' });
    expect((await fixture.status('j2', 'FAILED')).condition).toBe('JOB_INVALID_DEFINITION');
  });

  test.each([
    [{ name: 'a name of spaces' }, 'JOBS_WORKER_INVALID_CHAR'],
    [{ name: 'seventeen-letters' }, 'JOBS_WORKER_PARM_LENGTH'],
    [{ slots: 0 }, 'JOBS_WORKER_NUMBER_WORKERS'],
    [{ slots: 10_001 }, 'JOBS_WORKER_NUMBER_WORKERS'],
    [{ queue: 'aloe.jobq.other.submit.DefaultQueue' }, 'JOBS_WORKER_START_ERROR'],
    [{ queue: 'aloe.jobq.portals.submit.a.b' }, 'JOBS_WORKER_START_ERROR'],
  ])('§6.1: is not started with %j', async (given, code) => {
    const { checkWorker } = await import('../../src/worker/settings.js');
    const settings = { organization: ORG, name: 'w1', queue: QUEUE, slots: 1, host: 'h', version: '1', ...given };
    expect(() => checkWorker(settings)).toThrow(code);
  });

  test('one whose lease is not its own any more goes on under a new name, once a broker that is away is back', async () => {
    const process = await fixture.process();
    await fixture.submit('j1');
    const { worker: first } = await fixture.status('j1', 'RUNNING');
    const declare = process.broker.declare.bind(process.broker);
    let away = 0;
    process.broker.declare = async () => {
      away += 1;
      throw new MusterError('broker_unavailable', { reason: 'it is away', seconds: 5 });
    };
    await fixture.fixture.store.transact((trx) =>
      trx
        .updateTable('leases')
        .set(({ eb }) => ({ holder: null, epoch: eb('epoch', '+', 1), expires_at: fixture.fixture.clock.now() }))
        .where('name', '=', leaseName(first ?? ''))
        .execute(),
    );
    while (away < 3) await fixture.pass(500);
    expect([process.ended, process.worker.state]).toEqual([[], 'running']);

    process.broker.declare = declare;
    const taken = async () => {
      await fixture.pass(500);
      const { worker } = await fixture.read('j1');
      return worker !== null && worker !== first;
    };
    await fixture.until(taken, 'the job under the new name');
    fixture.scheduler.set('j1', ENDED);
    await fixture.until(async () => {
      await fixture.pass(500);
      return (await fixture.read('j1')).status === 'FINISHED';
    });
    expect(fixture.scheduler.submits).toHaveLength(1);
    expect(process.logged.map(({ message }) => message)).not.toContainEqual(expect.stringContaining('UNCAUGHT'));
  });

  test('one that waits for its broker to go on ends at once when it is told to', async () => {
    const process = await fixture.process();
    let away = 0;
    process.broker.declare = async () => {
      away += 1;
      throw new MusterError('broker_unavailable', { reason: 'it is away', seconds: 5 });
    };
    await fixture.fixture.store.transact((trx) =>
      trx.updateTable('leases').set({ holder: null }).where('name', 'like', 'job-worker/%').execute(),
    );
    while (away === 0) await fixture.pass(500);
    await process.worker.stop();
    expect([process.worker.state, process.ended]).toEqual(['stopped', []]);
  });
});
