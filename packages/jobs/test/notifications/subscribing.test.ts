// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of addresses look so
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job } from '../../src/types.js';
import { type FrontServer, startFront } from '../support/front-server.js';

const NOTIFICATIONS = '/organizations/default/job-notifications';
const HOOK = { event: '*', url: 'https://example.org/hook', persistent: true };

let front: FrontServer;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.close());

const submitted = async (given = {}): Promise<Job> => (await front.jobs.find((await front.submit(given)).id)) as Job;
const add = (job: Pick<Job, 'uuid'>, body: object = HOOK, as = 'jdoe') =>
  front.send({ method: 'POST', at: `${NOTIFICATIONS}/${job.uuid}`, body, as });
const list = async ({ uuid }: Job) => (await front.send({ at: `${NOTIFICATIONS}/${uuid}/subscriptions` })).body;
const remove = ({ uuid }: Job, id: string, as = 'jdoe') =>
  front.send({ method: 'DELETE', at: `${NOTIFICATIONS}/${uuid}/subscriptions/${id}`, as });
const told = async ({ uuid }: Job): Promise<string[]> =>
  (await front.send({ at: `${NOTIFICATIONS}/${uuid}` })).body.map(({ event }: { event: string }) => event);

describe('a subscription to a job that was accepted before (sheet §9.5)', () => {
  it('is told of what happens from then on, until it is removed: what waits for it then is not sent', async () => {
    const job = await submitted();
    const made = await add(job, { ...HOOK, policy: { retryLimit: 0 } });
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: job.uuid.replace('-007', '-1-011'),
        ...HOOK,
        policy: { retryStrategy: 'IMMEDIATE', retryLimit: 0, retryRate: 5, retryDelay: 0, saveOnFailure: true },
        status: 'ACTIVE',
        created: new Date(front.clock.now()).toISOString(),
        only_logged: false,
      },
    ]);
    const pending = await front.jobs.change(job, { to: 'PENDING' });
    expect(await told(job)).toEqual(['PENDING']);
    expect((await remove(job, made.body.id)).body).toEqual({ id: made.body.id });
    await front.jobs.change(pending, { to: 'PROCESSING_INPUTS' });
    expect(await told(job)).toEqual([]);
    expect(await list(job)).toMatchObject([{ id: made.body.id, status: 'INACTIVE' }]);
  });

  it('says of mail where no server sends any that it is only logged', async () => {
    const made = await add(await submitted(), { ...HOOK, url: 'me@example.org' });
    expect([made.status, made.body.only_logged]).toEqual([201, true]);
  });

  it('is told who may do something with the job, and that it is hidden or shown again (sheet §9.2)', async () => {
    const others = ['PERMISSION_GRANT', 'PERMISSION_REVOKE', 'DELETED', 'RESTORED'];
    const notifications = others.map((event) => ({ event, url: 'https://example.org/${EVENT}' }));
    const job = await submitted({ notifications });
    await front.send({ method: 'POST', path: `/${job.uuid}/pems/anna`, body: { permission: 'READ' } });
    await front.send({ method: 'DELETE', path: `/${job.uuid}/pems` });
    await front.send({ method: 'DELETE', path: `/${job.uuid}/pems` });
    await front.jobs.change(job, { to: 'STOPPED' });
    for (const action of ['hide', 'unhide']) await front.send({ method: 'POST', path: `/${job.uuid}/${action}` });
    const sent = (await front.send({ at: `${NOTIFICATIONS}/${job.uuid}` })).body;
    const byEvent = new Map(sent.map(({ event, url }: { event: string; url: string }) => [event, url]));
    expect(sent).toHaveLength(4);
    expect(byEvent).toEqual(new Map(others.map((event) => [event, `https://example.org/${event}`])));
    expect((await list(job)).map(({ status }: { status: string }) => status)).toEqual(Array(4).fill('COMPLETE'));
  });

  it('is told by UPDATED that something is asked of a job which is not done yet (sheet §9.2)', async () => {
    const notifications = [{ event: 'UPDATED', url: 'https://example.org/${EVENT}/${JOB_STATUS}' }];
    const job = await submitted({ notifications });
    await front.jobs.change(job, { to: 'PENDING' });
    const asked = { method: 'POST', path: `/${job.uuid}/cancel` };
    expect((await front.send(asked)).status).toBe(200);
    expect((await front.send(asked)).status).toBe(200);
    const [{ event, url }, ...others] = (await front.send({ at: `${NOTIFICATIONS}/${job.uuid}` })).body;
    expect([event, url, others]).toEqual(['UPDATED', 'https://example.org/UPDATED/PENDING', []]);
    const history = (await front.send({ path: `/${job.uuid}/history` })).body.result;
    expect(history.slice(-1)).toMatchObject([{ status: 'UPDATED', description: 'Job is to stop', createdBy: 'jdoe' }]);
  });

  it('is listed where the job says that its notifications are, for those who may share it', async () => {
    const notifications = [{ event: 'FINISHED', url: 'a@b.org' }];
    const { id, _links } = await front.submit({ notifications });
    await add({ uuid: id });
    const at = new URL(_links.notifications.href).pathname;
    const listed = await front.send({ at: `${at}?filter=event,url,persistent,status` });
    expect(listed.result).toEqual([
      { event: 'FINISHED', url: 'a@b.org', persistent: false, status: 'ACTIVE' },
      { ...HOOK, status: 'ACTIVE' },
    ]);
    await front.send({ method: 'POST', path: `/${id}/pems/anna`, body: { permission: 'READ' } });
    expect((await front.send({ at, as: 'anna' })).status).toBe(403);
  });

  it('is another one for each who asks at the same moment, beside those of the submission', async () => {
    const job = await submitted({ notifications: [{ event: 'FINISHED', url: 'a@b.org' }] });
    const urls = Array.from({ length: 6 }, (_, n) => `https://example.org/${n}`);
    const made = await Promise.all(urls.map((url) => add(job, { ...HOOK, url })));
    expect(made.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect(new Set((await list(job)).map(({ url }: { url: string }) => url))).toEqual(new Set(['a@b.org', ...urls]));
    expect((await front.jobs.find(job.uuid))?.subscriptions).toBe(7);
  });

  it('is audited, with who asked for it, as is its end', async () => {
    const job = await submitted();
    const { id } = (await add(job, HOOK, 'admin')).body;
    await remove(job, id);
    const [second, first] = await front.auth.audit.page({ orgId: front.org.id, limit: 2 });
    expect(first).toMatchObject({ action: 'job.subscribe', target: job.uuid, actor: { name: 'admin' } });
    expect(second).toMatchObject({ action: 'job.unsubscribe', target: job.uuid, actor: { name: 'jdoe' } });
  });

  it.each([
    ['http://127.0.0.1:8080/x', 'ALOE_INVALID_PARAMETER url: 127.0.0.1 is at a private address'],
    ['https://[::ffff:10.0.0.1]/', 'is at a private address'],
    ['http://169.254.169.254/latest', 'is at a private address'],
    ['file:///etc/passwd', 'ALOE_INVALID_PARAMETER url: must be an http or https URL'],
  ])('is refused for %s', async (url, says) => {
    const job = await submitted();
    const { status, text } = await add(job, { ...HOOK, url });
    expect(status).toBe(400);
    expect(text).toContain(says);
    expect(await list(job)).toEqual([]);
  });

  it.each([
    [{ event: 'RUNING', url: HOOK.url }, 'event'],
    [{ ...HOOK, policy: { retryLimit: -1 } }, 'policy.retryLimit'],
    [{ ...HOOK, policy: { retryStrategy: 'OFTEN' } }, 'policy.retryStrategy'],
    [{ ...HOOK, other: 1 }, 'other'],
  ])('%j is refused by its field', async (body, field) => {
    const { status, text } = await add(await submitted(), body);
    expect(status).toBe(400);
    expect(text).toContain(field);
  });

  it('is made and removed by those who may share the job', async () => {
    const job = await submitted();
    const { id } = (await add(job)).body;
    expect((await add(job, HOOK, 'anna')).status).toBe(403);
    expect((await remove(job, id, 'anna')).status).toBe(403);
    await front.send({ method: 'POST', path: `/${job.uuid}/pems/anna`, body: { permission: 'READ' } });
    expect((await add(job, HOOK, 'anna')).status).toBe(403);
    await front.send({ method: 'POST', path: `/${job.uuid}/pems/anna`, body: { permission: 'ALL' } });
    expect((await add(job, HOOK, 'anna')).status).toBe(201);
    const other = await submitted();
    expect((await remove(other, id)).status).toBe(404);
    expect((await add({ uuid: 'nothing-007' })).status).toBe(404);
  });

  it('is refused when nothing will be told any more, and when there are too many', async () => {
    const ended = await submitted();
    await front.jobs.change(ended, { to: 'STOPPED' });
    const refused = await add(ended);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('JOBS_JOB_IN_TERMINAL_STATE')]);
    const job = await submitted({ notifications: Array(20).fill(HOOK) });
    expect((await add(job)).status).toBe(503);
    const [first] = await list(job);
    await remove(job, first.id);
    expect((await add(job)).status).toBe(201);
  });
});
