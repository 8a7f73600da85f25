import { namesOf, organizationTopology, siteTopology } from '@muster/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { blockedRows, killRows } from '../../src/recovery/enter.js';
import { type FrontServer, startFront } from '../support/front-server.js';
import { newJob } from '../support/jobs.js';

const RECOVERY = '/organizations/default/job-recovery';
const MESSAGES = '/organizations/default/job-messages';
const DOWN = obstacle('AUTHENTICATION_FAILED', 'hpc1 refuses jobs', { systemId: 'hpc1' });

let server: FrontServer;
const heard: object[] = [];

beforeAll(async () => {
  server = await startFront();
  await server.broker.declare(siteTopology());
  await server.broker.declare(organizationTopology('default'));
  const { recoveryQueue } = namesOf('default');
  server.broker.consume(recoveryQueue, { slots: 1 }, async (delivery) => {
    heard.push(JSON.parse(delivery.body.toString()));
    await delivery.ack();
  });
  for (const n of [1, 2, 3]) {
    const job = newJob(`b${n}-007`, { orgId: server.org.id, tenant: 'default', owner: 'jdoe' });
    await server.jobs.add(job, null);
    const pending = await server.jobs.change(job, { to: 'PENDING' });
    const rows = blockedRows(pending, DOWN, server.clock.now());
    await server.jobs.change(pending, { to: 'BLOCKED', condition: DOWN.condition, message: DOWN.message }, rows);
  }
});
afterAll(() => server.close());

const get = async (at: string, as = 'admin') => (await server.send({ at, as })).body;
const why = async (job: string, as = 'jdoe') => (await get(`${RECOVERY}/jobs/${job}/why`, as)).why.join('\n');

describe('recovery over REST', () => {
  it('lists what jobs wait for, and which', async () => {
    const [record] = await get(RECOVERY);
    expect(record).toMatchObject({
      condition: 'AUTHENTICATION_FAILED',
      tester: 'DEFAULT_AUTHENTICATION_TESTER',
      parameters: { systemId: 'hpc1' },
      policy: 'CONSTANT_BACKOFF',
      policy_parameters: { maxTries: '15' },
      next_test: null,
      jobs: 3,
    });
    const shown = await get(`${RECOVERY}/${record.id}`);
    expect(shown.blocked.map(({ job }: { job: string }) => job)).toEqual(['b1-007', 'b2-007', 'b3-007']);
    expect(shown.blocked[0]).toMatchObject({ goes_on_at: 'PENDING', message: 'hpc1 refuses jobs' });
  });

  it('lists nothing that no job waits for any more, though its reader has not deleted it yet', async () => {
    const left = { id: 'left', condition: 'REMOTE_END_UNCONFIRMED', tester: 'T', policy: 'P' };
    const rest = { org_id: server.org.id, tester_parameters: '{}', policy_parameters: '{}', last_updated: 1 };
    await server.store.transact((trx) =>
      trx
        .insertInto('job_recovery')
        .values({ ...left, ...rest })
        .execute(),
    );
    expect((await get(RECOVERY)).map(({ id }: { id: string }) => id)).not.toContain('left');
    expect((await get(`${RECOVERY}/left`)).jobs).toBe(0);
  });

  it('says why a job does not go on: condition, tester, next test, its end, and how many wait beside it', async () => {
    expect(await why('b1-007')).toContain('Its recovery reader has not seen it yet.');
    const now = server.clock.now();
    await server.store.transact((trx) =>
      trx
        .updateTable('job_recovery')
        .set({ attempts: 2, next_attempt: now + 60_000, created: now, last_answer: 'Permission denied (publickey)' })
        .execute(),
    );
    const text = await why('b1-007');
    for (const part of [
      'blocked because its system refuses the login (AUTHENTICATION_FAILED): hpc1 refuses jobs',
      'DEFAULT_AUTHENTICATION_TESTER says when it may go on; so far it was not passed 2 times.',
      'It said last: Permission denied (publickey).',
      `The next test is at ${new Date(now + 60_000).toISOString()}.`,
      `It is given up at ${new Date(now + 172_800_000).toISOString()}, or after 15 tests.`,
      '2 other jobs wait beside it.',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('says what a job does that is not blocked', async () => {
    const job = newJob('r-007', { orgId: server.org.id, tenant: 'default', owner: 'jdoe' });
    await server.jobs.add(job, null);
    expect(await why('r-007')).toContain('waits in the queue');
    const pending = await server.jobs.change(job, { to: 'PENDING', patch: { worker: 'w1' } });
    expect(await why('r-007')).toContain('The worker w1 has it.');
    await server.jobs.want(pending, 'stop', 'jdoe');
    expect(await why('r-007')).toContain('Somebody asked for it to stop');
    const stopping = await server.jobs.find('r-007');
    await server.jobs.change(stopping ?? pending, { to: 'STOPPED', patch: { wanted: null } });
    expect(await why('r-007')).toContain('It is STOPPED (CANCELLED_BY_USER)');
  });

  it('shows with the reasons of a blocked job what it waits for', async () => {
    const [known] = await get(RECOVERY);
    expect((await get(`${RECOVERY}/jobs/b1-007/why`, 'jdoe')).recovery).toEqual(known);
    expect((await get(`${RECOVERY}/jobs/r-007/why`, 'jdoe')).recovery).toBeNull();
  });

  it('lets administrators test now, and give up; it is audited', async () => {
    const [{ id }] = await get(RECOVERY);
    for (const action of ['test-now', 'give-up']) {
      const { status } = await server.send({ method: 'POST', at: `${RECOVERY}/${id}/${action}`, as: 'admin' });
      expect(status).toBe(202);
    }
    await expect
      .poll(() => heard)
      .toMatchObject([
        { msgType: 'TEST_NOW', recoveryId: id },
        { msgType: 'GIVE_UP', recoveryId: id, by: 'admin' },
      ]);
    const audited = await server.store.read.selectFrom('audit').select(['action', 'target']).execute();
    expect(audited).toContainEqual({ action: 'job-recovery:give-up', target: id });
  });

  it.each([
    ['GET', RECOVERY],
    ['GET', `${RECOVERY}/x`],
    ['POST', `${RECOVERY}/x/test-now`],
    ['POST', `${RECOVERY}/x/give-up`],
    ['GET', MESSAGES],
    ['GET', `${MESSAGES}/x`],
    ['POST', `${MESSAGES}/x/resubmit`],
    ['DELETE', `${MESSAGES}/x`],
  ])('is for administrators alone: %s %s', async (method, at) => {
    expect((await server.send({ method, at, as: 'jdoe' })).status).toBe(403);
    if (at.includes('/x')) expect((await server.send({ method, at, as: 'admin' })).status).toBe(404);
  });

  it('shows the reasons and the notifications of a job only to whom they concern', async () => {
    for (const at of [`${RECOVERY}/jobs/b1-007/why`, '/organizations/default/job-notifications/b1-007']) {
      expect((await server.send({ at, as: 'jdoe' })).status).toBe(200);
      expect((await server.send({ at, as: 'bob' })).status).toBe(403);
    }
    expect((await server.send({ at: `${RECOVERY}/jobs/none/why`, as: 'jdoe' })).status).toBe(404);
  });
});

describe('notifications over REST', () => {
  it('are listed with what came of them', async () => {
    const request = JSON.stringify({ notifications: [{ event: '*', url: 'https://hook.example/', persistent: true }] });
    const job = newJob('n-007', { orgId: server.org.id, tenant: 'default', owner: 'jdoe', request });
    await server.jobs.add(job, null);
    const list = await get('/organizations/default/job-notifications/n-007', 'jdoe');
    expect(list).toMatchObject([{ event: 'ACCEPTED', url: 'https://hook.example/', outcome: 'waiting', attempts: 0 }]);
  });
});

describe('messages that nobody took, over REST', () => {
  const keep = (id: string, body: string) =>
    server.store.transact((trx) =>
      trx
        .insertInto('job_stray_messages')
        .values({
          id,
          kind: 'dead-letter',
          org_id: server.org.id,
          exchange: namesOf('default').recoveryExchange,
          routing_key: '',
          reason: 'rejected in there',
          body: Buffer.from(body),
          length: body.length,
          at: 5,
        })
        .execute(),
    );

  it('are listed, read, published again and dropped', async () => {
    heard.length = 0;
    await keep('m1', '{"again":1}');
    await keep('m2', '{"again":2}');
    expect(await get(`${MESSAGES}?kind=dead-letter`)).toHaveLength(2);
    expect(await get(`${MESSAGES}?kind=alternate`)).toEqual([]);
    expect(await get(`${MESSAGES}/m1`)).toMatchObject({ body: '{"again":1}', reason: 'rejected in there', length: 11 });
    await server.send({ method: 'POST', at: `${MESSAGES}/m1/resubmit`, as: 'admin' });
    await expect.poll(() => heard).toEqual([{ again: 1 }]);
    await server.send({ method: 'DELETE', at: `${MESSAGES}/m2`, as: 'admin' });
    expect(await get(MESSAGES)).toEqual([]);
    expect(heard).toHaveLength(1);
  });
});

describe('why', () => {
  it('says of a job that has ended, and not that it is blocked, that what runs of it is being ended', async () => {
    const job = newJob('k-007', { orgId: server.org.id, tenant: 'default', owner: 'jdoe' });
    await server.jobs.add(job, null);
    const remote = {
      status: 'RUNNING',
      systemId: 'hpc1',
      remoteJobId: '4711',
      workPath: '/scratch/k',
      remoteEnded: null,
    } as const;
    const stopped = await server.jobs.change(job, { to: 'STOPPED' });
    await server.store.commit(killRows({ ...stopped, ...remote }, server.clock.now()));
    const text = await why('k-007');
    expect(text).toContain('It is STOPPED (CANCELLED_BY_USER)');
    expect(text).toContain('Its program 4711 may still run on hpc1. It is being ended there.');
    expect(text).toContain('Its recovery reader has not seen it yet.');
    expect(text).not.toContain('blocked');
  });
});
