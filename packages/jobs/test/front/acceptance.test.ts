import type { Broker } from '@muster/broker';
import { afterEach, describe, expect, it } from 'vitest';
import { ME } from '../../../platform/test/support/personas.js';
import { MusterError } from '../../src/errors.js';
import { type FrontServer, SUBMISSION, startFront } from '../support/front-server.js';

let front: FrontServer;
afterEach(() => front.close());

/** The embedded broker, but for what is given. */
const but = (own: Broker, given: Partial<Broker>): Broker =>
  new Proxy(own, {
    get: (target, name) => {
      const value = Reflect.get(given, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

const unanswered = () => Promise.reject(new MusterError('broker_unavailable', { reason: 'no answer', seconds: 7 }));
const refusals = () => front.store.read.selectFrom('job_refusals').select('uuid').execute();
const rows = () => front.store.read.selectFrom('jobs').select('uuid').execute();
const submit = (headers = {}) => front.send({ method: 'POST', body: SUBMISSION, headers });

describe('while the broker is away', () => {
  it('a job is refused with 503 and Retry-After, and nothing is half done', async () => {
    const away = { status: () => ({ connected: false, since: 0, why: 'connection refused' }) };
    front = await startFront({ broker: (own) => but(own, away) });
    const { status, headers, message, body } = await submit();
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('5');
    expect(message).toBe('JOBS_QUEUE_POST_ERROR the message broker does not take the job: connection refused');
    expect(body).toEqual({ status: 'error', message, version: '2.4.0' });
    expect([await rows(), await refusals()]).toEqual([[], []]);
  });

  it('a job whose message may have been taken all the same is refused to workers, too', async () => {
    front = await startFront({ broker: (own) => but(own, { publish: unanswered }) });
    expect((await submit()).status).toBe(503);
    expect((await refusals()).length).toBe(1);
    expect(await rows()).toEqual([]);
  });

  it('a job that a worker has by the time that the broker should have answered is taken', async () => {
    front = await startFront({
      broker: (own) =>
        but(own, {
          publish: async ({ body }) => {
            const { job } = JSON.parse(String(body));
            await front.jobs.add(job, null);
            return unanswered();
          },
        }),
    });
    const { status, result } = await submit();
    expect(status).toBe(201);
    expect(await refusals()).toEqual([]);
    expect(await rows()).toEqual([{ uuid: result.id }]);
  });

  it('a request that is repeated with its key is taken once the broker is back', async () => {
    let answers = false;
    front = await startFront({
      broker: (own) => but(own, { publish: (message) => (answers ? own.publish(message) : unanswered()) }),
    });
    const key = { 'idempotency-key': 'again' };
    expect((await submit(key)).status).toBe(503);
    expect((await refusals()).length).toBe(1);
    answers = true;
    const { status, result } = await submit(key);
    expect(status).toBe(201);
    expect(await refusals()).toEqual([]);
    expect(await rows()).toEqual([{ uuid: result.id }]);
  });

  it('what is asked of a job is stored, and the answer good', async () => {
    let away = false;
    front = await startFront({
      broker: (own) => but(own, { publish: (message) => (away ? unanswered() : own.publish(message)) }),
    });
    const { id } = await front.submit();
    let job = await front.jobs.find(id);
    if (job === null) throw new Error('it is not stored');
    job = await front.jobs.change(job, { to: 'PENDING' });
    away = true;
    expect((await front.send({ method: 'POST', path: `/${id}/cancel` })).status).toBe(200);
    expect((await front.jobs.find(id))?.wanted).toBe('stop');
  });
});

describe('while the database is away', () => {
  it('a job whose message is confirmed is accepted', async () => {
    front = await startFront();
    front.jobs.add = () => Promise.reject(new MusterError('store_unavailable', { reason: 'disk full' }));
    const { status, result } = await submit();
    expect([status, result.status]).toEqual([201, 'ACCEPTED']);
  });
});

describe('the organization of the login', () => {
  it('is where jobs are that name none: by token, and with links that the same token opens', async () => {
    front = await startFront();
    const about = { bearer: { organization: null, name: 'jdoe' }, ttlSeconds: 3600 };
    const { token } = await front.auth.tokens.createAccessToken(about, ME);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${front.url}/jobs/v2/?pretty=true`, {
      method: 'POST',
      headers,
      body: JSON.stringify(SUBMISSION),
    });
    expect(response.status).toBe(201);
    // biome-ignore lint/suspicious/noExplicitAny: it is looked at below
    const { result } = (await response.json()) as any;
    expect(result.tenantId).toBe('default');
    expect(result._links.self.href).toBe(`${front.url}/jobs/v2/${result.id}`);
    for (const name of ['self', 'history', 'permissions', 'notifications']) {
      expect((await fetch(result._links[name].href, { headers })).status).toBe(200);
    }
    const list = await fetch(`${front.url}/jobs/v2`, { headers });
    expect(((await list.json()) as { result: unknown[] }).result.length).toBe(1);
    const stranger = await fetch(`${front.url}/jobs/v2`);
    expect(stranger.status).toBe(401);
    expect(await stranger.json()).toEqual({ status: 'error', message: expect.any(String), version: '2.4.0' });
  });
});
