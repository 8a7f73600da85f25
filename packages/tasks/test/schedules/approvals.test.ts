import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ME } from '../../../platform/test/support/personas.js';
import { startTaskServer, type TaskRequest, type TaskServer } from '../support/task-server.js';

/** Schedules of push jobs under a policy of approval, over HTTP. The clock stands at 2012-09-16, 0:00. */

let server: TaskServer;
let name = '';
let made = 0;
beforeAll(async () => {
  server = await startTaskServer();
  await server.auth.groups.put(
    server.org,
    'push_job_writers',
    { users: ['alice', 'bob'], clients: [], groups: [] },
    ME,
  );
});
afterAll(() => server.close());
beforeEach(async () => {
  name = `s${++made}`;
  await server.json({ method: 'PUT', path: 'approval-policies/all', body: {} });
});

const PUSH = { command: 'uname -a', nodes: ['web1'] };
const ASKER = { as: 'alice' } as const;

interface Waiting {
  readonly approval: string;
  readonly hash: string;
}

const send = (method: string, path: string, body?: object, rest: Partial<TaskRequest> = ASKER): Promise<Response> =>
  server.send({ method, path: `schedules${path}`, ...(body && { body }), ...rest });
const create = (given: object = {}): Promise<Response> =>
  send('POST', '', { name, cron: '0 3 * * *', push: PUSH, ...given });
const show = () => server.json<Record<string, unknown>>({ path: `schedules/${name}` });
const jobs = () => server.test.store.read.selectFrom('push_jobs').selectAll().execute();

async function waiting(response: Response): Promise<Waiting> {
  expect(response.status).toBe(202);
  return (await response.json()) as Waiting;
}

async function grant({ approval, hash }: Waiting, as = 'bob'): Promise<string> {
  const response = await server.send({ method: 'POST', path: `approvals/${approval}/grant`, body: { hash }, as });
  return `${response.status} ${response.headers.get('x-muster-error') ?? ''}`.trim();
}

/** Until it has run as often, or does not run. */
async function runs(expected: number): Promise<void> {
  await expect
    .poll(async () => {
      server.test.clock.advance(3_600_000);
      return (await jobs()).length;
    })
    .toBeGreaterThanOrEqual(expected);
}

describe('a schedule to which others have to agree', () => {
  it('is not there before, is made as it was granted, and its runs wait for nobody', async () => {
    const asked = await waiting(await create());
    expect((await server.send({ path: `schedules/${name}` })).status).toBe(404);
    expect(await server.json({ path: `approvals/${asked.approval}` })).toMatchObject({
      kind: 'schedule',
      schedule: name,
      asked_by: 'alice',
      command: 'uname -a',
      target: 'web1, at 0 3 * * * in UTC',
      order: { schedule: { name, cron: '0 3 * * *', work: { job: PUSH } } },
    });
    expect(await grant(asked, 'alice')).toBe('403 approval_own');
    const before = (await jobs()).length;
    expect(await grant(asked)).toBe('200');
    expect(await grant(asked)).toBe('200');
    expect(await show()).toMatchObject({ state: 'active', owner: 'alice', approval: asked.approval });
    await runs(before + 1);
    expect(await show()).toMatchObject({ state: 'active', last_missed: null });
    // That it runs at its times was granted; to run it besides was not.
    const now = await send('POST', `/${name}/run`);
    expect([now.status, now.headers.get('x-muster-error')]).toEqual([409, 'approval_needed']);
  });

  it('is asked about again when anything of it is changed, and goes on as it was until then', async () => {
    await grant(await waiting(await create()));
    const change = { push: { ...PUSH, command: 'rm -r /tmp/x' } };
    const asked = await waiting(await send('PATCH', `/${name}`, change));
    expect(await show()).toMatchObject({ command: 'uname -a' });
    await waiting(await send('PATCH', `/${name}`, { cron: '* * * * *' }));
    expect(await grant(asked)).toBe('200');
    expect(await show()).toMatchObject({ command: 'rm -r /tmp/x', cron: '0 3 * * *', approval: asked.approval });
  });

  it('is not made from an approval that is not of how it stands', async () => {
    await grant(await waiting(await create()));
    const late = await waiting(await send('PATCH', `/${name}`, { cron: '0 5 * * *' }));
    const first = await waiting(await send('PATCH', `/${name}`, { cron: '0 4 * * *' }));
    server.test.clock.advance(1);
    expect(await grant(first)).toBe('200');
    expect(await grant(late)).toBe('409 approval_void');
    const lost = await waiting(await send('PATCH', `/${name}`, { cron: '0 6 * * *' }));
    const writers = (users: string[]) =>
      server.auth.groups.put(server.org, 'push_job_writers', { users, clients: [], groups: [] }, ME);
    await writers(['bob']);
    expect(await grant(lost)).toBe('409 approval_void');
    await writers(['alice', 'bob']);
  });

  it('is held when policies want something else since than what others agreed to, until it was asked for again', async () => {
    const asked = await waiting(await create({ cron: '0 * * * *' }));
    expect(await grant(asked)).toBe('200');
    const before = (await jobs()).length;
    await runs(before + 1);
    await server.json({ method: 'PUT', path: 'approval-policies/web', body: { by: ['bob'] } });
    await expect
      .poll(async () => {
        server.test.clock.advance(3_600_000);
        return (await show()).state;
      })
      .toBe('held');
    expect((await show()).reason).toContain('policy web');
    expect((await show()).reason).not.toContain('policy all');
    expect(await grant(await waiting(await send('POST', `/${name}/resume`)))).toBe('200');
    // What is wanted no more keeps nothing from running.
    await server.send({ method: 'DELETE', path: 'approval-policies/web' });
    await runs((await jobs()).length + 1);
    expect(await show()).toMatchObject({ state: 'active' });
  });

  it('that was made before there was a policy is held, and asks when it is resumed', async () => {
    await server.send({ method: 'DELETE', path: 'approval-policies/all' });
    expect((await create({ cron: '0 * * * *' })).status).toBe(201);
    await server.json({ method: 'PUT', path: 'approval-policies/all', body: {} });
    await expect
      .poll(async () => {
        server.test.clock.advance(3_600_000);
        return (await show()).state;
      })
      .toBe('held');
    expect((await show()).reason).toContain('policy all');
    const before = (await jobs()).filter(({ command }) => command === 'uname -a').length;
    const asked = await waiting(await send('POST', `/${name}/resume`));
    expect(await show()).toMatchObject({ state: 'held' });
    expect(await grant(asked)).toBe('200');
    expect(await show()).toMatchObject({ state: 'active', approval: asked.approval });
    await runs(before + 1);
  });

  it('shows what is in its script', async () => {
    const text = '#!/bin/sh\necho tidy\n';
    const sha256 = createHash('sha256').update(text).digest('hex');
    const script = { sha256, size: text.length, name: 'tidy.sh' };
    await server.push.files.begin(server.org.id, script);
    await server.push.files.append(server.org.id, sha256, 0, Buffer.from(text));
    const { approval } = await waiting(await create({ push: { script, nodes: ['web1'] } }));
    expect(await server.json({ path: `approvals/${approval}` })).toMatchObject({ order: { script_text: text } });
    const job = { script, nodes: ['web1'] };
    const started = await waiting(await server.send({ method: 'POST', path: 'pushy/jobs', body: job, ...ASKER }));
    expect(await server.json({ path: `approvals/${started.approval}` })).toMatchObject({
      order: { script_text: text },
    });
  });

  it('does not concern tasks', async () => {
    await server.json({ method: 'POST', path: 'queues', body: { name: `q${made}`, plugin: 'p' } });
    expect((await create({ push: undefined, task: { queue: `q${made}`, params: {} } })).status).toBe(403);
    const response = await send(
      'POST',
      '',
      { name, cron: '@daily', task: { queue: `q${made}`, params: {} } },
      { as: 'admin' },
    );
    expect(response.status).toBe(201);
  });
});
