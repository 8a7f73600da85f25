import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HistoryAnswer, JobAnswer, JobSummary, StatusAnswer } from '../../src/routes/schemas.js';
import { type FrontServer, SUBMISSION, startFront } from '../support/front-server.js';

let front: FrontServer;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.close());

describe('a submission', () => {
  it('is told of as each notification says: how often is tried again, and what is kept (sheet §9.5)', async () => {
    const notifications = [
      { event: 'FINISHED', url: 'a@b.org', policy: { retryStrategy: 'DELAYED', retryLimit: 3, saveOnFailure: false } },
      { event: '*', url: 'https://example.org/', persistent: true },
    ];
    const { id } = await front.submit({ notifications });
    const stored = front.store.read.selectFrom('job_notifications').select('policy').where('uuid', '=', id);
    const policies = (await stored.orderBy('id').execute()).map(({ policy }) => JSON.parse(policy));
    const usual = { retryStrategy: 'IMMEDIATE', retryLimit: 5, retryRate: 5, retryDelay: 0, saveOnFailure: true };
    expect(policies).toEqual([{ ...usual, retryStrategy: 'DELAYED', retryLimit: 3, saveOnFailure: false }, usual]);
  });

  it('is described as it is answered, with nothing left out', async () => {
    const { id } = await front.submit({ archive: true, archivePath: '', parameters: { evalue: 2 } });
    for (const [path, schema] of [
      [`/${id}`, JobAnswer],
      [`/${id}/status`, StatusAnswer],
      [`/${id}/history`, HistoryAnswer],
    ] as const) {
      expect([path, [...Value.Errors(schema, await front.get(path))]]).toEqual([path, []]);
    }
    const [entry] = await front.get('');
    expect([...Value.Errors(JobSummary, entry)]).toEqual([]);
    expect(Object.keys(await front.get(`/${id}`)).sort()).toEqual(Object.keys(JobAnswer.properties).sort());
    expect(Object.keys(entry).sort()).toEqual(Object.keys(JobSummary.properties).sort());
  });

  it('is answered with the whole job, ACCEPTED (sheet §1.4)', async () => {
    const body = { ...SUBMISSION, archive: true, archivePath: '', parameters: { evalue: 2 } };
    const { status, body: envelope, result } = await front.send({ method: 'POST', body });
    expect(status).toBe(201);
    expect(envelope).toMatchObject({ status: 'success', message: null });
    expect(envelope.version > '2.2.22-r7deb380').toBe(true);
    const at = '2026-11-22T18:30:00.000Z';
    const self = `${front.url}/organizations/default/jobs/v2/${result.id}`;
    expect(result).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-007$/),
      name: 'demo',
      tenantId: 'default',
      tenantQueue: 'aloe.jobq.default.submit.DefaultQueue',
      status: 'ACCEPTED',
      lastStatusMessage: 'JOBS_ACCEPTED Job accepted for processing.',
      accepted: at,
      created: null,
      ended: null,
      lastUpdated: at,
      owner: 'jdoe',
      roles: null,
      systemId: 'here',
      appId: 'wc-1.0',
      appUuid: 'a1-005',
      workPath: null,
      archive: true,
      archiveOnAppError: false,
      archivePath: `jdoe/archive/jobs/job-${result.id}-demo`,
      archiveSystem: 'store',
      nodeCount: 1,
      processorsPerNode: 2,
      memoryPerNode: 1.5,
      maxHours: 2,
      inputs: { query1: 'in/a.txt' },
      parameters: { evalue: 2, secret_mode: 'x' },
      remoteJobId: null,
      schedulerJobId: null,
      remoteQueue: 'normal',
      remoteSubmitted: null,
      remoteStarted: null,
      remoteEnded: null,
      remoteOutcome: null,
      exitCode: null,
      condition: null,
      submitRetries: 0,
      remoteStatusChecks: 0,
      failedStatusChecks: 0,
      lastStatusCheck: null,
      blockedCount: 0,
      visible: true,
      _links: {
        self: { href: self },
        app: { href: `${front.url}/organizations/default/apps/v2/wc-1.0` },
        executionSystem: { href: `${front.url}/organizations/default/systems/v2/here` },
        archiveSystem: { href: `${front.url}/organizations/default/systems/v2/store` },
        archiveData: { href: `${self}/outputs/listings` },
        permissions: { href: `${self}/pems` },
        history: { href: `${self}/history` },
        notifications: { href: `${self}/notifications` },
      },
    });
  });

  it('is seen at once: itself, its status, its history and in the list', async () => {
    const job = await front.submit({ name: 'at once' });
    expect(await front.get(`/${job.id}`)).toEqual(job);
    expect(await front.get(`/${job.id}/status`)).toEqual({
      id: job.id,
      status: 'ACCEPTED',
      _links: { self: job._links.self },
    });
    expect(await front.get(`/${job.id}/history`)).toEqual([
      {
        id: '0',
        status: 'ACCEPTED',
        created: job.accepted,
        createdBy: 'jdoe',
        description: 'JOBS_ACCEPTED Job accepted for processing.',
      },
    ]);
    const list = await front.get('/?name=at%20once');
    expect(list).toEqual([
      {
        id: job.id,
        name: 'at once',
        owner: 'jdoe',
        systemId: 'here',
        appId: 'wc-1.0',
        created: null,
        status: 'ACCEPTED',
        remoteStarted: null,
        ended: null,
        _links: { self: job._links.self, archiveData: job._links.archiveData },
      },
    ]);
  });

  it('leaves the whole job in its submission queue (sheet §5.5)', async () => {
    const received: string[] = [];
    const job = await front.submit({ name: 'sent' });
    await new Promise<void>((resolve) => {
      const consumer = front.broker.consume(job.tenantQueue, { slots: 1 }, async (delivery) => {
        received.push(delivery.body.toString());
        await delivery.ack();
        if (delivery.id === job.id) void consumer.stop().then(resolve);
      });
    });
    const message = JSON.parse(received.at(-1) ?? '');
    const stored = await front.jobs.find(job.id);
    expect(message).toEqual({ msgType: 'SUBMIT_JOB', job: { ...stored, idempotencyKey: null, address: '127.0.0.1' } });
  });
});

it('tells where it is told how jobs are used (sheet §8.3)', async () => {
  const { documentation, openapi } = await front.get('/usage');
  expect(documentation).toBe(`${front.url}/docs`);
  const described = (await (await fetch(openapi)).json()) as { paths: Record<string, unknown> };
  expect(Object.keys(described.paths)).toContain('/organizations/{org}/jobs/v2/{id}/outputs/listings');
});
