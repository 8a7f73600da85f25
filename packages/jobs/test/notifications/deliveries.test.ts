// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of addresses look so
import { BASE_URL, DEFAULT_RETRIES, DELIVERIES_HINT, readRetries, retryAfter } from '@muster/platform/outbound';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hoursText, webhookBody } from '../../src/notifications/body.js';
import { subscribeRows } from '../../src/notifications/subscriptions.js';
import { resolveAddress } from '../../src/notifications/template.js';
import type { Change } from '../../src/repository/job-store.js';
import type { Job } from '../../src/types.js';
import { type JobFixture, newJob, openJobs } from '../support/jobs.js';

const J1 = 'b5c4014b-31e7-47a0-954f-c9d404320904-007';
const asked = (...notifications: object[]) => ({ request: JSON.stringify({ notifications }) });

describe('what a job was subscribed to', () => {
  let fixture: JobFixture;
  beforeEach(async () => {
    fixture = await openJobs();
  });
  afterEach(() => fixture.close());

  const deliveries = () =>
    fixture.store.read.selectFrom('deliveries').selectAll().orderBy('created').orderBy('id').execute();
  const events = async () => (await deliveries()).map(({ event, subscription: id }) => `${id.slice(-5)} ${event}`);

  it('is stored with each of its events, in the same transaction (sheet §9.3)', async () => {
    await fixture.job(
      J1,
      'PROCESSING_INPUTS',
      asked(
        { event: '*', url: 'http://hook/${EVENT}', persistent: true },
        { event: 'PROCESSING_INPUTS', url: 'a@b.example', persistent: true },
        { event: 'running', url: 'http://hook/', persistent: true },
      ),
    );
    expect(await events()).toEqual([
      '1-011 ACCEPTED',
      '1-011 PENDING',
      '1-011 PROCESSING_INPUTS',
      '2-011 PROCESSING_INPUTS',
    ]);
    const [accepted] = await deliveries();
    expect(accepted).toMatchObject({
      url: 'http://hook/ACCEPTED',
      outcome: 'waiting',
      next_attempt: fixture.clock.now(),
    });
    expect(JSON.parse(accepted?.body ?? '')).toMatchObject({ id: J1, status: 'ACCEPTED' });
    await expect(
      fixture.jobs.change({ ...(await fixture.read(J1)), epoch: 7 }, { to: 'STAGING_JOB' }),
    ).rejects.toThrow();
    expect(await events()).toHaveLength(4);
  });

  it('is told once of an event, whoever stores the job first', async () => {
    const job = newJob(J1, asked({ event: 'CREATED', url: 'http://hook/' }));
    await fixture.jobs.add(job, null);
    await fixture.jobs.add(job, null);
    expect(await events()).toEqual(['1-011 CREATED']);
  });

  it('is over after one event unless it is persistent', async () => {
    await fixture.job(J1, 'STAGED', asked({ event: '*', url: 'http://hook/' }));
    expect(await events()).toEqual(['1-011 ACCEPTED']);
    const rows = await fixture.store.read.selectFrom('job_notifications').select('status').execute();
    expect(rows).toEqual([{ status: 'COMPLETE' }]);
  });

  it('is told of what happens although the worker read the job before somebody subscribed', async () => {
    const read = await fixture.job(J1, 'PENDING');
    const later = { event: '*', url: 'http://hook/', persistent: true };
    await fixture.store.commit(subscribeRows(read, later, 5).writes);
    const changed = await fixture.jobs.change(read, { to: 'PROCESSING_INPUTS' });
    expect(changed.subscriptions).toBe(1);
    await fixture.jobs.change(changed, { to: 'STAGING_INPUTS' });
    expect(await events()).toEqual(['1-011 PROCESSING_INPUTS', '1-011 STAGING_INPUTS']);
    expect((await fixture.history(J1)).filter((entry) => entry.startsWith('PROC'))).toHaveLength(1);
  });

  const REMOTE = { event: 'REMOTE_STATUS_CHANGE', url: 'http://hook/${EVENT}/${JOB_STATUS}', persistent: true };
  const UNKNOWN = { event: 'UNKNOWN_TERMINATION', url: 'http://hook/${EVENT}/${JOB_STATUS}', persistent: true };
  const ALL = { event: '*', url: 'http://hook/', persistent: true };
  const goneThrough = async (job: Job, ...changes: Change[]) => {
    for (const change of changes) job = await fixture.jobs.change(job, change);
    return job;
  };
  const sent = async () => (await deliveries()).map(({ url }) => url.replace('http://hook/', ''));

  it('is told of REMOTE_STATUS_CHANGE when its program is seen running, and when it has ended; by * of the status alone', async () => {
    const queued = await fixture.job(J1, 'QUEUED', asked(REMOTE, UNKNOWN, { ...ALL, event: 'FINISHED' }));
    await goneThrough(queued, { to: 'RUNNING' }, { to: 'CLEANING_UP', patch: { exitCode: 0 } }, { to: 'FINISHED' });
    expect(await sent()).toEqual(['REMOTE_STATUS_CHANGE/RUNNING', 'REMOTE_STATUS_CHANGE/CLEANING_UP', '']);
  });

  it('is told of no REMOTE_STATUS_CHANGE when only its own status changes', async () => {
    const running = await fixture.job(J1, 'RUNNING', asked(REMOTE));
    await fixture.store.transact((trx) => trx.deleteFrom('deliveries').execute());
    await goneThrough(running, { to: 'PAUSED' }, { to: 'RUNNING' }, { to: 'STOPPED' });
    expect(await sent()).toEqual([]);
  });

  it.each([
    ['nothing knows of its program any more', { to: 'FAILED', condition: 'JOB_EXECUTION_MONITORING_ERROR' }],
    ['it has ended, and nobody knows how', { to: 'CLEANING_UP' }],
  ] as const)('is told of UNKNOWN_TERMINATION when %s', async (_, change) => {
    const running = await fixture.job(J1, 'RUNNING', asked(UNKNOWN));
    const ended = await fixture.jobs.change(running, change);
    expect(await sent()).toEqual([`UNKNOWN_TERMINATION/${ended.status}`]);
  });

  it.each([
    { to: 'FAILED', condition: 'JOB_EXECUTION_MONITORING_TIMEOUT' },
    { to: 'CLEANING_UP', patch: { exitCode: 3 } },
    { to: 'CLEANING_UP', patch: { remoteCondition: 'SCHEDULER_TIMEOUT' } },
  ] as const)('is told of no UNKNOWN_TERMINATION when it is known how it ended: %j', async (change) => {
    const running = await fixture.job(J1, 'RUNNING', asked(UNKNOWN));
    await fixture.jobs.change(running, change);
    expect(await sent()).toEqual([]);
  });

  it('keeps nobody from losing a job', async () => {
    const read = await fixture.job(J1, 'PENDING');
    await fixture.store.commit(subscribeRows(read, { event: '*', url: 'http://h/', persistent: true }, 5).writes);
    await fixture.jobs.change(read, { to: 'PROCESSING_INPUTS' });
    await expect(fixture.jobs.change(read, { to: 'PROCESSING_INPUTS' })).rejects.toMatchObject({ name: 'JobLost' });
  });

  it('costs a job without subscriptions nothing, and hints at what is to be delivered', async () => {
    const heard: (string | null)[] = [];
    const stop = fixture.store.hints.listen(DELIVERIES_HINT, (text) => heard.push(text));
    await expect.poll(() => heard).toEqual([null]);
    await fixture.job('quiet-007', 'STAGED');
    await fixture.job(J1, 'ACCEPTED', asked({ event: '*', url: 'http://hook/' }));
    await expect.poll(() => heard).toEqual([null, '']);
    stop();
  });
});

describe('the body of a webhook', () => {
  it('has the names of Agave where they differ (sheet §9.4)', () => {
    const job = newJob(J1, {
      status: 'RUNNING',
      created: 1_600_604_728_522,
      maxSeconds: 360,
      remoteJobId: '6477330',
      remoteQueue: 'normal',
      memoryMb: 1536,
      remoteStarted: 1_600_604_750_950,
    });
    expect(webhookBody(job)).toMatchObject({
      id: J1,
      uuid: J1,
      tenantId: 'portals',
      error_message: 'Job running on execution system',
      created: '2020-09-20T12:25:28.522Z',
      endTime: null,
      executionSystem: 'hpc1',
      localId: '6477330',
      batchQueue: 'normal',
      startTime: '2020-09-20T12:25:50.950Z',
      submitTime: null,
      maxRunTime: '00:06:00',
      memoryPerNode: 1.5,
    });
    for (const kept of ['roles', 'inputs', 'parameters', 'request', 'worker']) {
      expect(webhookBody(job)).not.toHaveProperty(kept);
    }
    expect(hoursText(360_000 + 59)).toBe('100:00:59');
  });
});

describe('the address of a subscription', () => {
  const job = newJob(J1, { name: 'my job/1', status: 'FAILED', lastMessage: 'no & never' });

  it('has values in the place of its variables, as they may stand in a URL (sheet §1.2)', () => {
    const address =
      'http://h/${JOB_NAME}?s=${JOB_STATUS}&e=${JOB_ERROR}&t=${JOB_START_TIME}&i=${UUID}-${JOB_ID}&x=${NOPE}';
    expect(resolveAddress(address, job, 'FAILED')).toBe(
      `http://h/my%20job%2F1?s=FAILED&e=no%20%26%20never&t=&i=${J1}-${J1}&x=\${NOPE}`,
    );
  });

  const TIMES = { remoteSubmitted: 1_600_604_740_001, remoteStarted: 1_600_604_750_950, ended: 1_600_604_800_000 };
  const done = newJob(J1, { ...TIMES, status: 'FINISHED', archivePath: 'kept/a b', archiveSystem: 'store' });

  it.each([
    ['JOB_SYSTEM', 'hpc1', 'hpc1'],
    ['JOB_SUBMIT_TIME', '2020-09-20T12%3A25%3A40.001Z', ''],
    ['JOB_START_TIME', '2020-09-20T12%3A25%3A50.950Z', ''],
    ['JOB_END_TIME', '2020-09-20T12%3A26%3A40.000Z', ''],
    ['JOB_ARCHIVE_PATH', 'kept%2Fa%20b', ''],
    [
      'JOB_ARCHIVE_URL',
      `${BASE_URL}%2Fjobs%2Fv2%2F${J1}%2Foutputs%2Flistings`,
      `${BASE_URL}%2Fjobs%2Fv2%2F${J1}%2Foutputs%2Flistings`,
    ],
    ['EVENT', 'X', 'X'],
  ])('has %s of a job that is over, and of one that has not begun (sheet §1.2)', (name, ended, accepted) => {
    const address = `http://h/?v=\${${name}}`;
    expect(resolveAddress(address, done, 'X')).toBe(`http://h/?v=${ended}`);
    expect(resolveAddress(address, newJob(J1), 'X')).toBe(`http://h/?v=${accepted}`);
  });

  it('says where the server is reached only when it is sent', () => {
    const stored = resolveAddress('http://h/?u=${JOB_URL}', job, 'FAILED');
    expect(stored).toBe(`http://h/?u=${BASE_URL}%2Fjobs%2Fv2%2F${J1}`);
  });
});

describe('retries (sheet §9.5)', () => {
  const waits = (given: object, most = 10) => {
    const policy = readRetries(given);
    const said: number[] = [];
    for (let attempts = 1; attempts <= most; attempts++) {
      const wait = retryAfter(policy, attempts);
      if (wait === null) return said;
      said.push(wait / 1000);
    }
    return said;
  };

  it.each([
    [{ retryStrategy: 'NONE' }, []],
    [{}, [0, 5, 5, 5, 5]],
    [{ retryStrategy: 'IMMEDIATE', retryLimit: 3, retryRate: 7 }, [0, 7, 7]],
    [{ retryStrategy: 'DELAYED', retryLimit: 3, retryRate: 60, retryDelay: 10 }, [10, 60, 60]],
    [{ retryStrategy: 'EXPONENTIAL', retryLimit: 4, retryDelay: 2 }, [2, 4, 8, 16]],
    [{ retryStrategy: 'EXPONENTIAL', retryLimit: 3 }, [5, 10, 20]],
    [{ retryStrategy: 'IMMEDIATE', retryLimit: 0 }, []],
  ])('%j: %j', (given, expected) => {
    expect(waits(given)).toEqual(expected);
  });

  it('never wait longer than a day, and are never more than the most', () => {
    const policy = readRetries({ retryStrategy: 'EXPONENTIAL', retryLimit: 99_999, retryDelay: 99_999_999 });
    expect(policy).toMatchObject({ retryLimit: 1440, retryDelay: 86_400 });
    expect(retryAfter(policy, 1440)).toBe(86_400_000);
    expect(retryAfter(policy, 1441)).toBeNull();
  });

  it('are the usual ones where nothing, or nonsense, is said', () => {
    expect(readRetries(undefined)).toEqual(DEFAULT_RETRIES);
    expect(readRetries({ retryStrategy: 'SOMETIMES', retryLimit: '3', retryRate: 1.5, saveOnFailure: 1 })).toEqual(
      DEFAULT_RETRIES,
    );
  });
});
