import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job } from '../../src/types.js';
import { type FrontServer, startFront } from '../support/front-server.js';

let front: FrontServer;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.close());

interface Told {
  readonly event: string;
  readonly id: string;
  readonly data: { readonly status: string; readonly message: string; readonly timestamp: string };
}

/** The feed of a job, which tells as it is read. */
async function* feed(
  id: string,
  { as = 'jdoe', after }: { readonly as?: string; readonly after?: string | undefined } = {},
): AsyncGenerator<Told> {
  const headers = after === undefined ? {} : { 'last-event-id': after };
  const response = await front.open({ path: `/${id}/feed`, as, headers });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
      if (!block.startsWith(':')) yield { event: field('event'), id: field('id'), data: JSON.parse(field('data')) };
    }
  }
}

async function next(events: AsyncGenerator<Told>): Promise<string> {
  const { value } = await events.next();
  return (value as Told | undefined)?.data.status ?? 'over';
}

async function all(events: AsyncGenerator<Told>): Promise<readonly Told[]> {
  const told: Told[] = [];
  for await (const event of events) told.push(event);
  return told;
}

const submitted = async (): Promise<Job> => (await front.jobs.find((await front.submit()).id)) as Job;

describe('the feed of a job', () => {
  it('tells how it stands, then each change, and ends with it', async () => {
    const job = await submitted();
    const events = feed(job.uuid);
    const first = (await events.next()).value;
    expect(first).toMatchObject({ event: 'job', data: { status: 'ACCEPTED', message: job.lastMessage } });
    expect((first as Told).data.timestamp).toMatch(/^2026-11-22 \d\d:\d\d:\d\d\.\d{6}Z$/);
    const pending = await front.jobs.change(job, { to: 'PENDING', message: 'a worker has it' });
    expect((await events.next()).value).toMatchObject({ data: { status: 'PENDING', message: 'a worker has it' } });
    await front.jobs.change(pending, { to: 'FAILED', condition: 'JOB_INVALID_DEFINITION' });
    expect((await all(events)).map(({ data }) => data.status)).toEqual(['FAILED']);
  });

  it('of one that has ended tells just that', async () => {
    const job = await submitted();
    await front.jobs.change(job, { to: 'STOPPED' });
    expect((await all(feed(job.uuid))).map(({ data }) => data.status)).toEqual(['STOPPED']);
  });

  it('goes on after an event, and misses none', async () => {
    const job = await submitted();
    const events = feed(job.uuid);
    const accepted = (await events.next()).value as Told;
    await events.return(undefined);
    const pending = await front.jobs.change(job, { to: 'PENDING' });
    await front.jobs.change(pending, { to: 'STOPPED' });
    const told = await all(feed(job.uuid, { after: accepted.id }));
    expect(told.map(({ data }) => data.status)).toEqual(['PENDING', 'STOPPED']);
    expect(await all(feed(job.uuid, { after: told[1]?.id }))).toEqual([]);
  });

  it('needs no event in the log', async () => {
    const job = await submitted();
    const forgotten = () => front.store.transact((trx) => trx.deleteFrom('event_log').execute());
    await forgotten();
    const events = feed(job.uuid);
    expect(await next(events)).toBe('ACCEPTED');
    await front.jobs.change(job, { to: 'STOPPED' });
    expect(await next(events)).toBe('STOPPED');
    expect(await next(events)).toBe('over');
    await forgotten();
    expect((await all(feed(job.uuid))).map(({ data }) => data.status)).toEqual(['STOPPED']);
  });

  it('is for those who may see the job, for as long as they may', async () => {
    const job = await submitted();
    const path = `/${job.uuid}/feed`;
    expect((await front.send({ path, as: 'anna' })).status).toBe(403);
    expect((await front.send({ path: '/none-007/feed' })).status).toBe(404);
    expect((await front.send({ path: `${path}?status=x` })).status).toBe(400);
    await share('READ');
    const events = feed(job.uuid, { as: 'anna' });
    expect(await next(events)).toBe('ACCEPTED');
    await share('NONE');
    await front.jobs.change(job, { to: 'STOPPED' });
    expect(await next(events)).toBe('over');

    async function share(permission: string): Promise<void> {
      const body = { username: 'anna', permission };
      expect((await front.send({ method: 'POST', path: `/${job.uuid}/pems`, body })).status).toBeLessThan(300);
    }
  });
});
