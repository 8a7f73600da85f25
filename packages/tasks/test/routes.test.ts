import { describe, expect, it } from 'vitest';
import { type Queue, refused, TaskApi } from './support/task-api.js';
import { numbered, taskRow } from './support/task-rows.js';

/** Queues and lists of tasks over HTTP. */

const api = new TaskApi();
const { add, addOne, list, queue } = api;

describe('queues', () => {
  it('are created with defaults, shown by name and by id, changed and deleted', async () => {
    const created = await queue({ name: 'resize', threads: 8, key: { param: 'user', limit: 2 } });
    expect(created).toMatchObject({ threads: 8, state: 'open', key: { param: 'user', limit: 2 }, sort: 'default' });
    expect(await api.server.json({ path: 'queues/resize' })).toEqual(created);
    expect(await api.server.json({ path: `queues/${created.id}` })).toEqual(created);
    const changed = await api.server.json({
      method: 'PATCH',
      path: 'queues/resize',
      body: { threads: null, sort: 'lifo' },
    });
    expect(changed).toMatchObject({ threads: null, sort: 'lifo', key: { param: 'user', limit: 2 } });
    const retry = { limit: 3 };
    expect(await api.server.json({ method: 'PATCH', path: 'queues/resize', body: { retry } })).toMatchObject({
      retry: { limit: 3, first: 1, longest: 3600 },
    });
    expect(await api.server.json({ method: 'POST', path: 'queues/resize/pause' })).toMatchObject({ state: 'paused' });
    expect(await api.server.json({ method: 'POST', path: 'queues/resize/drain' })).toMatchObject({ state: 'draining' });
    expect(await api.server.json({ method: 'POST', path: 'queues/resize/resume' })).toMatchObject({ state: 'open' });
    expect((await api.server.send({ method: 'DELETE', path: 'queues/resize' })).status).toBe(204);
    expect((await api.server.send({ path: 'queues/resize' })).status).toBe(404);
  });

  it('are gone with their tasks for everybody who looks, however many these are', async () => {
    const { name, id: queueId } = await queue();
    const id = await addOne(name, {});
    await api.server.json({ method: 'POST', path: `tasks/${id}/cancel` });
    await api.server.send({ method: 'DELETE', path: `queues/${name}` });
    expect((await api.server.send({ path: `tasks/${id}` })).status).toBe(404);
    expect((await list(`queue_id:${queueId}`)).tasks).toEqual([]);
    const body = { action: 'retry', ids: [id] };
    expect(await api.server.json({ method: 'POST', path: 'tasks/actions', body })).toMatchObject({ acted: 0 });
  });

  it('are listed by name, with what waits and why', async () => {
    const { name } = await queue({ name: 'a-first' });
    await addOne(name, { params: { n: 1 } });
    const [first] = await api.server.json<Queue[]>({ path: 'queues' });
    expect(first).toMatchObject({
      name: 'a-first',
      counts: { queued: 1 },
      oldest_waiting: new Date(api.server.test.clock.now()).toISOString(),
    });
    const { why } = await api.server.json<{ why: string[] }>({ path: 'queues/a-first/why' });
    expect(why.join(' ')).toContain('No node');
  });

  it.each([
    [{ name: 'x' }, 'invalid plugin: it is missing'],
    [{ name: '', plugin: 'p' }, 'invalid name'],
    [{ name: numbered(1), plugin: 'p' }, 'must not be 24 hex digits'],
    [{ name: '..', plugin: 'p' }, 'must be neither . nor ..'],
    [{ name: 'x', plugin: 'p', threads: -1 }, 'invalid threads'],
    [{ name: 'x', plugin: 'p', colour: 'red' }, 'invalid colour: there is no such field'],
    [{ name: 'x', plugin: 'p', nodes: 'role:' }, 'invalid search at character'],
    [{ name: 'x', plugin: 'p', writers: ['team:a b'] }, 'invalid writers.0'],
  ])('that are malformed are refused by the field: %j', async (body, reason) => {
    const [status, , error] = await refused(await api.server.send({ method: 'POST', path: 'queues', body }));
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });

  it('take a name once', async () => {
    const { name } = await queue();
    const answer = await api.server.send({ method: 'POST', path: 'queues', body: { name, plugin: 'p' } });
    expect((await refused(answer)).slice(0, 2)).toEqual([409, 'queue_exists']);
  });

  it('leave an entry in the audit with each change', async () => {
    const { name } = await queue();
    await api.server.json({ method: 'POST', path: `queues/${name}/pause` });
    await api.server.send({ method: 'DELETE', path: `queues/${name}` });
    const entries = await api.server.auth.audit.page({ orgId: api.server.org.id, limit: 100 });
    const actions = entries.filter(({ target }) => target === name).map(({ action, actor }) => [action, actor.name]);
    expect(actions).toEqual([
      ['queue.delete', 'admin'],
      ['queue.change', 'admin'],
      ['queue.create', 'admin'],
    ]);
  });
});

describe('listing tasks', () => {
  it('shows those a selector finds, newest first, page by page', async () => {
    const { name } = await queue();
    await add(
      name,
      [1, 2, 3, 4, 5].map((n) => ({ params: { n } })),
    );
    const q = `queue:${name} AND params.n < 5`;
    const first = await list(q, '&limit=3');
    expect(first.tasks.map(({ params }) => params.n)).toEqual([4, 3, 2]);
    const second = await list(q, `&limit=3&after=${first.next}`);
    expect(second.tasks.map(({ params }) => params.n)).toEqual([1]);
    expect(second.next).toBeNull();
    expect((await list(q, '&order=asc&limit=1')).tasks.map(({ params }) => params.n)).toEqual([1]);
  });

  it.each([
    ['tasks?q=colour:red', "tasks have no 'colour'"],
    ['tasks?q=status%20%3D', 'invalid search at character'],
    ['tasks?after=x', 'invalid after'],
    ['tasks?limit=0', 'invalid limit'],
    ['tasks?colour=red', 'invalid colour'],
  ])('refuses %s', async (path, reason) => {
    const [status, , error] = await refused(await api.server.send({ path }));
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });
});

describe('runs of a task', () => {
  it('are shown with those that are over, and their output: inline, in part, of any of them', async () => {
    const { id: queueId } = await queue();
    const id = numbered(0xfff1);
    const about = { id, org_id: api.server.org.id, queue_id: queueId };
    const ended = { status: 1, attempt: 2, node: 'web2', started_at: 1, ended_at: 2, complete: 1 };
    await api.server.test.put(taskRow({ ...about, ...ended, stdout: 'hello, world', stderr: '' }));
    const first = { task_id: id, attempt: 1, node: 'web1', status: 2, reason: 'exit 1', ended_at: 1 };
    await api.server.test.store.transact((trx) =>
      trx
        .insertInto('task_attempts')
        .values({ ...first, stdout: 'oh no' })
        .execute(),
    );
    expect(await api.server.json({ path: `tasks/${id}/attempts` })).toMatchObject([
      { attempt: 1, node: 'web1', status: 'failed', reason: 'exit 1' },
      { attempt: 2, node: 'web2', status: 'succeeded' },
    ]);
    expect(await api.server.json({ path: `tasks/${id}/attempts?after=1` })).toMatchObject([{ attempt: 2 }]);
    const output = async (path: string, headers = {}) => {
      const answer = await api.server.send({ path: `tasks/${id}/output/${path}`, headers });
      return [answer.status, await answer.text()];
    };
    expect(await output('stdout')).toEqual([200, 'hello, world']);
    expect(await output('stderr')).toEqual([200, '']);
    expect(await output('stdout?attempt=1')).toEqual([200, 'oh no']);
    expect(await output('stdout?from=7')).toEqual([200, 'world']);
    expect(await output('stdout', { range: 'bytes=0-4' })).toEqual([206, 'hello']);
    expect(await output('stdout', { range: 'bytes=90-' })).toMatchObject([416, expect.anything()]);
    expect((await output('stderr?attempt=1'))[0]).toBe(404);
    expect((await output('stdout?attempt=3'))[0]).toBe(404);
  });
});
