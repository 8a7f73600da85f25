import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ME } from '../../../platform/test/support/personas.js';
import { startTaskServer, type TaskRequest, type TaskServer } from '../support/task-server.js';

/** Schedules over HTTP. No node is there, so that what is started waits. The clock stands at 2012-09-16, 0:00. */

let server: TaskServer;
beforeAll(async () => {
  server = await startTaskServer();
  await server.json({ method: 'POST', path: 'queues', body: { name: 'resize', plugin: 'p' } });
  await server.json({ method: 'POST', path: 'queues', body: { name: 'open', plugin: 'p', writers: ['bob'] } });
});
afterAll(() => server.close());

interface Shown {
  readonly [field: string]: unknown;
  readonly name: string;
}

const TASK = { queue: 'resize', params: { file: 'a.png' } };
const PUSH = { command: 'uname -a', nodes: ['web1'] };

let made = 0;
const body = (given: Readonly<Record<string, unknown>> = {}) => ({
  name: `s${++made}`,
  cron: '0 3 * * *',
  ...(given.push === undefined && { task: TASK }),
  ...given,
});
const create = (given: Readonly<Record<string, unknown>> = {}, rest: Partial<TaskRequest> = {}): Promise<Shown> =>
  server.json<Shown>({ method: 'POST', path: 'schedules', body: body(given), ...rest });
const post = (path: string, rest: Partial<TaskRequest> = {}): Promise<Response> =>
  server.send({ method: 'POST', path: `schedules/${path}`, ...rest });
const show = (name: string): Promise<Shown> => server.json<Shown>({ path: `schedules/${name}` });

async function refused(response: Response): Promise<[number, string | null, string]> {
  const { error } = (await response.json()) as { error: string | string[] };
  return [response.status, response.headers.get('x-muster-error'), [error].flat().join()];
}

describe('schedules', () => {
  it('are made with defaults, shown, changed and deleted', async () => {
    const created = await create({ name: 'nightly', timezone: 'Europe/Berlin' });
    expect(created).toMatchObject({
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      missed: 'run-once',
      overlap: 'skip',
      state: 'active',
      kind: 'task',
      queue: 'resize',
      owner: 'admin',
      next_run: '2012-09-16T01:00:00.000Z',
      last_run: null,
      last_missed: null,
      task: TASK,
      push: null,
    });
    expect((created.next_runs as string[]).slice(0, 2)).toEqual([
      '2012-09-16T01:00:00.000Z',
      '2012-09-17T01:00:00.000Z',
    ]);
    expect(await show('nightly')).toEqual(created);
    const changes = { cron: ' 30 4 * * mon ', overlap: 'queue', task: { ...TASK, priority: 5 } };
    const changed = await server.json<Shown>({ method: 'PATCH', path: 'schedules/nightly', body: changes });
    expect(changed).toMatchObject({
      cron: '30 4 * * mon',
      timezone: 'Europe/Berlin',
      overlap: 'queue',
      task: { ...TASK, priority: 5 },
      next_run: '2012-09-17T02:30:00.000Z',
    });
    expect((await server.send({ method: 'DELETE', path: 'schedules/nightly' })).status).toBe(204);
    expect((await server.send({ path: 'schedules/nightly' })).status).toBe(404);
  });

  it('are paused and resumed', async () => {
    const { name } = await create({ paused: true });
    expect(await show(name)).toMatchObject({
      state: 'paused',
      reason: 'paused by admin',
      next_run: null,
      next_runs: [],
    });
    expect(await (await post(`${name}/resume`)).json()).toMatchObject({ state: 'active', reason: null });
    expect(await (await post(`${name}/pause`)).json()).toMatchObject({ state: 'paused', next_run: null });
  });

  it('run now when they are told to, and say what became of it', async () => {
    const { name } = await create();
    const { task } = (await (await post(`${name}/run`)).json()) as { task: string };
    expect(await server.json({ path: `tasks/${task}` })).toMatchObject({ status: 'queued', params: TASK.params });
    const last = { task, job: null, status: 'queued', due_at: '2012-09-16T00:00:00.000Z' };
    expect(await show(name)).toMatchObject({ last_run: last });
    await server.json({ method: 'POST', path: `tasks/${task}/cancel` });
    expect(await show(name)).toMatchObject({ last_run: { ...last, status: 'cancelled' } });
    expect((await server.send({ method: 'DELETE', path: `tasks/${task}` })).status).toBe(204);
    expect(await show(name)).toMatchObject({ last_run: { ...last, status: null } });
  });

  it('of push jobs show the job without its file', async () => {
    const { name } = await create({ push: { ...PUSH, file: 'raw:secret' } });
    expect(await show(name)).toMatchObject({ kind: 'push', command: 'uname -a', queue: null, task: null });
    expect((await show(name)).push).toEqual({ ...PUSH, file_specified: true });
    const { job } = (await (await post(`${name}/run`)).json()) as { job: string };
    const past = await server.json<readonly Shown[]>({ path: `schedules/${name}/runs` });
    expect(past).toMatchObject([{ outcome: 'started', task: null, job, status: expect.any(String), count: 1 }]);
    const found = await server.test.store.read.selectFrom('push_jobs').selectAll().where('id', '=', job).execute();
    expect(found).toMatchObject([{ command: 'uname -a', requester: 'admin' }]);
    expect(await show(name)).toMatchObject({ last_run: { job, task: null } });
  });

  it('of push jobs keep the files that these take along for as long as they name them', async () => {
    const { push, org, test } = server;
    const bytes = Buffer.from('#!/bin/sh\n');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const script = { sha256, size: bytes.length, name: 'tidy.sh', args: ['-q'] };
    const work = { script, nodes: ['web1'] };
    const absent = await server.send({ method: 'POST', path: 'schedules', body: body({ push: work }) });
    expect((await refused(absent))[1]).toBe('push_file_missing');
    const bring = async () => {
      await push.files.begin(org.id, script);
      await push.files.append(org.id, sha256, 0, bytes);
    };
    const days = async (number: number) => {
      test.clock.advance(number * 86_400_000);
      await push.files.prune();
    };
    await bring();
    // Paused, so that none of its runs is what keeps it.
    const { name, command } = await create({ push: work, paused: true });
    expect(command).toBe('script:tidy.sh -q');
    await days(60);
    await days(60);
    expect(await push.files.find(org.id, sha256)).toMatchObject({ sha256 });
    const { job } = (await (await post(`${name}/run`)).json()) as { job: string };
    expect(job).toMatch(/^[0-9a-f]{32}$/);
    await server.send({ method: 'DELETE', path: `schedules/${name}` });
    await days(60);
    expect(await push.files.find(org.id, sha256)).toBeUndefined();
  });

  it('are listed by name', async () => {
    await create({ name: 'b-second' });
    await create({ name: 'a-first', push: PUSH });
    const names = (await server.json<Shown[]>({ path: 'schedules' })).map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['a-first', 'b-second']));
  });

  it.each([
    [{ cron: '0 25 * * *' }, "invalid cron: hour: '25' is not from 0 to 23"],
    [{ cron: '0 0 30 2 *' }, 'invalid cron: it never comes'],
    [{ timezone: 'Berlin' }, 'invalid timezone: there is none of this name'],
    [{ missed: 'sometimes' }, 'invalid missed: must be one of run-once, skip'],
    [{ overlap: 'x' }, 'invalid overlap: must be one of allow, skip, queue'],
    [{ name: '' }, 'invalid name'],
    [{ name: '..' }, 'must be neither . nor ..'],
    [{ colour: 'red' }, 'invalid colour: there is no such field'],
    [{ task: undefined }, 'invalid task: it is missing: give task or push'],
    [{ push: PUSH, task: TASK }, 'invalid push: give either task or push'],
    [{ task: { queue: 'resize', params: [] } }, 'invalid params: they are not an object'],
    [{ task: { queue: 'resize', unique: { key: 'x' } } }, 'invalid task.unique: a task of a schedule cannot have it'],
    [{ task: { queue: 'resize', retries: -1 } }, 'invalid retries'],
    [{ task: { params: {} } }, 'invalid task.queue'],
    [{ push: { command: 'x' } }, 'at least one node must be supplied'],
    [{ push: { ...PUSH, quorum: {} } }, 'invalid type supplied for quorum'],
  ])('that are malformed are refused by the field: %j', async (given, reason) => {
    const [status, , error] = await refused(
      await server.send({ method: 'POST', path: 'schedules', body: body(given) }),
    );
    expect(error).toContain(reason);
    expect(status).toBe(400);
  });

  it('of a queue that does not exist, and of a name that does, are refused', async () => {
    const unknown = body({ task: { queue: 'nowhere' } });
    expect((await server.send({ method: 'POST', path: 'schedules', body: unknown })).status).toBe(404);
    const { name } = await create();
    const again = await server.send({ method: 'POST', path: 'schedules', body: body({ name }) });
    expect((await refused(again)).slice(0, 2)).toEqual([409, 'schedule_exists']);
  });

  it('leave an entry in the audit with each change', async () => {
    const { name } = await create();
    await server.json({ method: 'PATCH', path: `schedules/${name}`, body: { overlap: 'allow' } });
    await post(`${name}/pause`);
    await post(`${name}/resume`);
    await post(`${name}/run`);
    await server.send({ method: 'DELETE', path: `schedules/${name}` });
    const entries = await server.auth.audit.page({ orgId: server.org.id, limit: 100 });
    const actions = entries
      .filter(({ target }) => target === name)
      .map(({ action }) => action.slice('schedule.'.length));
    expect(actions.sort()).toEqual(['change', 'create', 'delete', 'pause', 'resume', 'run']);
  });
});

describe('who may do what with a schedule', () => {
  it('of a queue: who may write the queue makes and changes it, nobody else', async () => {
    const { name } = await create({ task: { queue: 'open' } });
    expect((await post(`${name}/run`, { as: 'bob' })).status).toBe(201);
    expect((await post(`${name}/pause`, { as: 'alice' })).status).toBe(403);
    expect((await server.send({ method: 'DELETE', path: `schedules/${name}`, as: 'alice' })).status).toBe(403);
    const [status, , error] = await refused(
      await server.send({ method: 'POST', path: 'schedules', body: body(), as: 'bob' }),
    );
    expect(status).toBe(403);
    expect(error).toContain('bob');
    await create({ task: { queue: 'open' } }, { as: 'bob' });
  });

  it('nobody moves it to a queue, or to a command, that they may not use', async () => {
    const { name } = await create({ task: { queue: 'open' } });
    const patch = (changes: object) =>
      server.send({ method: 'PATCH', path: `schedules/${name}`, body: changes, as: 'bob' });
    expect((await patch({ task: { queue: 'resize' } })).status).toBe(403);
    expect((await patch({ push: PUSH })).status).toBe(403);
    expect((await patch({ overlap: 'allow' })).status).toBe(200);
    expect(await show(name)).toMatchObject({ owner: 'bob', queue: 'open' });
  });

  it('is not seen by who may not read what it runs', async () => {
    const { name } = await create();
    expect((await server.send({ path: `schedules/${name}`, as: 'alice' })).status).toBe(200);
    await server.auth.groups.put(server.org, 'task_readers', { users: ['carol'], clients: [], groups: [] }, ME);
    expect((await server.send({ path: `schedules/${name}`, as: 'alice' })).status).toBe(404);
    const seenBy = async (as: string) =>
      (await server.json<Shown[]>({ path: 'schedules', as }))
        .filter(({ kind }) => kind === 'task')
        .map((one) => one.queue);
    expect(await seenBy('carol')).toContain('resize');
    expect(await seenBy('alice')).toEqual([]);
    expect(new Set(await seenBy('bob'))).toEqual(new Set(['open']));
  });

  it('of push jobs: who may start some makes it; it is changed by its owner, or who may start any', async () => {
    expect(
      (await server.send({ method: 'POST', path: 'schedules', body: body({ push: PUSH }), as: 'alice' })).status,
    ).toBe(403);
    const { name } = await create({ push: PUSH });
    await server.auth.groups.put(server.org, 'push_job_writers', { users: ['carol'], clients: [], groups: [] }, ME);
    expect((await post(`${name}/pause`, { as: 'carol' })).status).toBe(200);
    expect((await post(`${name}/pause`, { as: 'bob' })).status).toBe(403);
  });

  it('one that outlives a token needs a signature to be made', async () => {
    const token = await server.token('admin');
    const answer = await server.send({ method: 'POST', path: 'schedules', body: body(), token });
    expect((await refused(answer))[1]).toBe('signature_required');
    const { name } = await create();
    expect((await post(`${name}/run`, { token })).status).toBe(201);
    expect((await post(`${name}/pause`, { token })).status).toBe(200);
    expect((await refused(await post(`${name}/resume`, { token })))[1]).toBe('signature_required');
  });
});
