import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { numbered, taskRow } from './support/task-rows.js';
import { startTaskServer, type TaskRequest, type TaskServer } from './support/task-server.js';

/** Queues and tasks over HTTP. No node is there, so that what is added waits. */

let server: TaskServer;
beforeAll(async () => {
  server = await startTaskServer({ tasks: { max_params: 1000 } });
});
afterAll(() => server.close());

interface Queue {
  readonly id: string;
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
}
interface Task {
  readonly id: string;
  readonly status: string;
  readonly params: Readonly<Record<string, unknown>>;
}
interface Found {
  readonly tasks: readonly Task[];
  readonly next: string | null;
}

let queues = 0;
/** A new queue. */
async function queue(settings: Readonly<Record<string, unknown>> = {}): Promise<Queue> {
  const body = { name: `queue-${++queues}`, plugin: 'thumbnail', ...settings };
  return server.json<Queue>({ method: 'POST', path: 'queues', body });
}

const add = (name: string, body: unknown, rest: Partial<TaskRequest> = {}): Promise<Response> =>
  server.send({ method: 'POST', path: `queues/${name}/tasks`, body, ...rest });
const addLines = (name: string, lines: readonly string[], rest: Partial<TaskRequest> = {}): Promise<Response> =>
  add(name, lines.join('\n'), { headers: { 'content-type': 'application/x-ndjson' }, ...rest });
const addOne = async (name: string, task: object): Promise<string> =>
  ((await (await add(name, task)).json()) as { id: string }).id;
const list = (q: string, query = ''): Promise<Found> =>
  server.json<Found>({ path: `tasks?q=${encodeURIComponent(q)}${query}` });

async function refused(response: Response): Promise<[number, string | null, string]> {
  const { error } = (await response.json()) as { error: string | string[] };
  return [response.status, response.headers.get('x-muster-error'), [error].flat().join()];
}

describe('queues', () => {
  it('are created with defaults, shown by name and by id, changed and deleted', async () => {
    const created = await queue({ name: 'resize', threads: 8, key: { param: 'user', limit: 2 } });
    expect(created).toMatchObject({ threads: 8, state: 'open', key: { param: 'user', limit: 2 }, sort: 'default' });
    expect(await server.json({ path: 'queues/resize' })).toEqual(created);
    expect(await server.json({ path: `queues/${created.id}` })).toEqual(created);
    const changed = await server.json({
      method: 'PATCH',
      path: 'queues/resize',
      body: { threads: null, sort: 'lifo' },
    });
    expect(changed).toMatchObject({ threads: null, sort: 'lifo', key: { param: 'user', limit: 2 } });
    const retry = { limit: 3 };
    expect(await server.json({ method: 'PATCH', path: 'queues/resize', body: { retry } })).toMatchObject({
      retry: { limit: 3, first: 1, longest: 3600 },
    });
    expect(await server.json({ method: 'POST', path: 'queues/resize/pause' })).toMatchObject({ state: 'paused' });
    expect(await server.json({ method: 'POST', path: 'queues/resize/drain' })).toMatchObject({ state: 'draining' });
    expect(await server.json({ method: 'POST', path: 'queues/resize/resume' })).toMatchObject({ state: 'open' });
    expect((await server.send({ method: 'DELETE', path: 'queues/resize' })).status).toBe(204);
    expect((await server.send({ path: 'queues/resize' })).status).toBe(404);
  });

  it('are gone with their tasks for everybody who looks, however many these are', async () => {
    const { name, id: queueId } = await queue();
    const id = await addOne(name, {});
    await server.json({ method: 'POST', path: `tasks/${id}/cancel` });
    await server.send({ method: 'DELETE', path: `queues/${name}` });
    expect((await server.send({ path: `tasks/${id}` })).status).toBe(404);
    expect((await list(`queue_id:${queueId}`)).tasks).toEqual([]);
    const body = { action: 'retry', ids: [id] };
    expect(await server.json({ method: 'POST', path: 'tasks/actions', body })).toMatchObject({ acted: 0 });
  });

  it('are listed by name, with what waits and why', async () => {
    const { name } = await queue({ name: 'a-first' });
    await addOne(name, { params: { n: 1 } });
    const [first] = await server.json<Queue[]>({ path: 'queues' });
    expect(first).toMatchObject({
      name: 'a-first',
      counts: { queued: 1 },
      oldest_waiting: new Date(server.test.clock.now()).toISOString(),
    });
    const { why } = await server.json<{ why: string[] }>({ path: 'queues/a-first/why' });
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
    const [status, , error] = await refused(await server.send({ method: 'POST', path: 'queues', body }));
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });

  it('take a name once', async () => {
    const { name } = await queue();
    const answer = await server.send({ method: 'POST', path: 'queues', body: { name, plugin: 'p' } });
    expect((await refused(answer)).slice(0, 2)).toEqual([409, 'queue_exists']);
  });

  it('leave an entry in the audit with each change', async () => {
    const { name } = await queue();
    await server.json({ method: 'POST', path: `queues/${name}/pause` });
    await server.send({ method: 'DELETE', path: `queues/${name}` });
    const entries = await server.auth.audit.page({ orgId: server.org.id, limit: 100 });
    const actions = entries.filter(({ target }) => target === name).map(({ action, actor }) => [action, actor.name]);
    expect(actions).toEqual([
      ['queue.delete', 'admin'],
      ['queue.change', 'admin'],
      ['queue.create', 'admin'],
    ]);
  });
});

describe('adding tasks', () => {
  it('answers the id of one, and whether it was there already', async () => {
    const { name } = await queue();
    const task = { params: { file: 'a.png' }, priority: 5, unique: { key: 'a.png' } };
    const first = await add(name, task);
    expect(first.status).toBe(201);
    const { id } = (await first.json()) as { id: string };
    expect(await (await add(name, task)).json()).toEqual({ id, created: false });
    expect(await server.json({ path: `tasks/${id}` })).toMatchObject({
      id,
      queue: name,
      params: { file: 'a.png' },
      status: 'queued',
      priority: 5,
      requester: 'admin',
    });
  });

  it('takes a list as a whole, or not at all', async () => {
    const { name } = await queue();
    const answers = await (await add(name, [{ params: { n: 1 } }, { params: { n: 2 } }])).json();
    expect(answers).toMatchObject([{ created: true }, { created: true }]);
    const [status, , error] = await refused(await add(name, [{ params: { n: 3 } }, { params: [] }]));
    expect([status, error]).toEqual([400, 'invalid params: tasks.1: they are not an object']);
    expect((await list(`queue:${name}`)).tasks).toHaveLength(2);
  });

  it.each([
    ['"text"', 'invalid task: must be an object'],
    ['{"params": "x"}', 'they are not an object'],
    ['{"params": [1]}', 'they are not an object'],
    [JSON.stringify({ params: { x: 'y'.repeat(1000) } }), 'more than 1000'],
    [`{"params": {"x": ${'['.repeat(200)}${']'.repeat(200)}}}`, 'nested deeper'],
    ['{"param": {}}', 'invalid param: there is no such field'],
    ['{"priority": 1.5}', 'invalid priority'],
    ['{"not_before": "soon"}', 'invalid not_before: must be a time'],
    ['{"after": ["x"]}', 'invalid after.0: must be the id of a task'],
    [`{"after": ["${numbered(1)}"]}`, 'there is no task'],
    ['{"unique": {"key": ""}}', 'invalid unique.key'],
    ['{"params": {"__proto__": 1}}', 'the key __proto__ is not allowed'],
  ])('refuses %s', async (body, reason) => {
    const { name } = await queue();
    const [status, , error] = await refused(await add(name, body));
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });

  it('is refused by a queue that is drained, and by one that there is not', async () => {
    const { name } = await queue({ state: 'draining' });
    expect((await refused(await add(name, {}))).slice(0, 2)).toEqual([409, 'queue_draining']);
    expect((await add('nowhere', {})).status).toBe(404);
  });
});

describe('adding lines of tasks', () => {
  const lines = (count: number): string[] =>
    Array.from({ length: count }, (_, n) => JSON.stringify({ params: { n }, unique: { key: `k${n}` } }));

  it('tells how many were added, and how many were there; blank lines are none', async () => {
    const { name } = await queue();
    const first = await addLines(name, ['', ...lines(3), '  ', '']);
    expect([first.status, await first.json()]).toEqual([200, { added: 3, existed: 0 }]);
    expect(await (await addLines(name, lines(5))).json()).toEqual({ added: 2, existed: 3 });
  });

  it('with a token takes more than a body may have', async () => {
    const { name } = await queue();
    const many = Array.from({ length: 30_000 }, (_, n) => `{"params":{"n":${n},"text":"${'x'.repeat(40)}"}}`);
    const token = await server.token('admin');
    expect(many.join('\n').length).toBeGreaterThan(1_000_000);
    expect(await (await addLines(name, many, { token })).json()).toEqual({ added: 30_000, existed: 0 });
    expect(await server.json({ path: `queues/${name}` })).toMatchObject({ counts: { queued: 30_000 } });
    expect((await addLines(name, many)).status).toBe(413);
  });

  it.each(['with a signature', 'with a token'])('%s stops at a bad line: what is before it stays', async (how) => {
    const token = how === 'with a token' ? { token: await server.token('admin') } : {};
    const { name } = await queue();
    const answer = await addLines(name, [...lines(4), '{"params": 7}', ...lines(9)], token);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('x-muster-error')).toBe('invalid_params');
    expect(await answer.json()).toEqual({
      error: 'line 5: invalid params: they are not an object',
      added: 4,
      existed: 0,
      line: 5,
    });
    expect((await list(`queue:${name}`)).tasks).toHaveLength(4);
  });

  it('names the line that the layer refuses, and adds those before it', async () => {
    const { name } = await queue();
    const answer = await addLines(name, ['', ...lines(2), `{"after":["${numbered(1)}"]}`, ...lines(4)]);
    expect(await answer.json()).toMatchObject({ added: 2, line: 4 });
  });

  it('refuses a line without an end before it is read whole', async () => {
    const { name } = await queue();
    const token = await server.token('admin');
    const answer = await addLines(name, ['{}', `{"params":{"x":"${'y'.repeat(100_000)}"}}`], { token });
    expect(await answer.json()).toMatchObject({ added: 1, line: 2 });
  });

  it('is for who may write only, also before the body is read', async () => {
    const { name } = await queue();
    expect((await addLines(name, lines(2), { token: await server.token('bob') })).status).toBe(403);
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
    const [status, , error] = await refused(await server.send({ path }));
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });
});

describe('acting on a task', () => {
  it('holds, releases, cancels, retries and deletes it', async () => {
    const { name } = await queue();
    const id = await addOne(name, { params: {} });
    const act = (action: string, body?: object) =>
      server.json({ method: 'POST', path: `tasks/${id}/${action}`, ...(body && { body }) });
    expect(await act('hold', { code: -50 })).toMatchObject({ status: 'held', code: -50 });
    expect(await act('release')).toMatchObject({ status: 'queued' });
    expect(await act('cancel')).toMatchObject({ status: 'cancelled' });
    expect(await act('retry')).toMatchObject({ status: 'queued' });
    const { why } = await server.json<{ why: string[] }>({ path: `tasks/${id}/why` });
    expect(why.length).toBeGreaterThan(0);
    expect((await server.send({ method: 'DELETE', path: `tasks/${id}` })).status).toBe(204);
    expect((await server.send({ path: `tasks/${id}` })).status).toBe(404);
  });

  it('says why it cannot be done, and of what there is not, that', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    const answer = await server.send({ method: 'POST', path: `tasks/${id}/release` });
    expect(await refused(answer)).toEqual([409, 'task_refused', `task ${id} cannot be released: it is not held`]);
    expect((await server.send({ method: 'POST', path: `tasks/${numbered(1)}/release` })).status).toBe(404);
    expect((await server.send({ method: 'POST', path: 'tasks/nonsense/release' })).status).toBe(404);
  });
});

describe('acting on many tasks', () => {
  const actions = (body: object, rest: Partial<TaskRequest> = {}) =>
    server.json({ method: 'POST', path: 'tasks/actions', body, ...rest });

  it('counts first, and then does it', async () => {
    const { name } = await queue();
    await addLines(
      name,
      Array.from({ length: 1200 }, (_, n) => `{"params":{"n":${n}}}`),
    );
    const where = `queue:${name} AND params.n < 1100`;
    const nothing = { refused: [], next: null };
    expect(await actions({ action: 'cancel', where, dry_run: true })).toEqual({ matched: 1100, acted: 0, ...nothing });
    expect(await actions({ action: 'cancel', where })).toEqual({ matched: 1100, acted: 1100, ...nothing });
    expect(await server.json({ path: `queues/${name}` })).toMatchObject({ counts: { cancelled: 1100, queued: 100 } });
  });

  it('tells what stayed as it was, by reason', async () => {
    const { name } = await queue();
    const first = await addOne(name, {});
    const second = await addOne(name, {});
    await server.json({ method: 'POST', path: `tasks/${second}/cancel` });
    const answer = await actions({ action: 'retry', ids: [first, second, numbered(1)] });
    expect(answer).toEqual({
      matched: 3,
      acted: 1,
      refused: [
        { reason: 'it does not exist', tasks: 1, first: numbered(1) },
        { reason: 'it has not ended', tasks: 1, first },
      ],
      next: null,
    });
  });

  it.each([
    [{ action: 'retry' }, 'give either `where` or `ids`'],
    [{ action: 'retry', where: '', ids: ['x'] }, 'give either `where` or `ids`'],
    [{ action: 'retry', ids: ['x'] }, 'invalid ids.0'],
    [{ action: 'explode', where: '' }, 'invalid action'],
  ])('refuses %j', async (body, reason) => {
    const answer = await server.send({ method: 'POST', path: 'tasks/actions', body });
    const [status, , error] = await refused(answer);
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });
});

describe('who may do what', () => {
  const members = (users: readonly string[], groups: readonly string[] = []) => ({ users, clients: [], groups });
  const statuses = async (as: string, requests: readonly TaskRequest[]): Promise<number[]> => {
    const found: number[] = [];
    for (const request of requests) found.push((await server.send({ ...request, as })).status);
    return found;
  };

  it('members look while there are no task_readers; writing is for admins and task_writers', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    const reads = [{ path: 'queues' }, { path: `queues/${name}` }, { path: 'tasks' }, { path: `tasks/${id}` }];
    const writes = [
      { method: 'POST', path: `queues/${name}/tasks`, body: {} },
      { method: 'POST', path: `queues/${name}/pause` },
      { method: 'POST', path: `tasks/${id}/cancel` },
      { method: 'POST', path: 'tasks/actions', body: { action: 'retry', where: `queue:${name}` } },
      { method: 'DELETE', path: `queues/${name}` },
    ];
    expect(await statuses('alice', reads)).toEqual([200, 200, 200, 200]);
    expect(await statuses('alice', writes)).toEqual([403, 403, 403, 403, 403]);
    await server.auth.groups.put(server.org, 'task_writers', members(['alice']), ME);
    await server.auth.groups.put(server.org, 'task_readers', members(['bob']), ME);
    expect(await statuses('alice', reads)).toEqual([403, 403, 403, 403]);
    expect(await statuses('bob', reads)).toEqual([200, 200, 200, 200]);
    expect(await statuses('alice', writes)).toEqual([201, 200, 200, 200, 204]);
    await server.auth.groups.remove(server.org, 'task_writers', ME);
  });

  it('a queue admits writers and readers to itself and to its tasks, and to nothing else', async () => {
    await server.auth.groups.put(server.org, 'task_readers', members([]), ME);
    await server.auth.groups.put(server.org, 'team', members(['carol']), ME);
    const { name } = await queue({ writers: ['alice'], readers: ['group:team', 'client:bob'] });
    const { name: other } = await queue();
    const id = await addOne(name, {});
    const ofOther = await addOne(other, {});
    const reads = (queueName: string, task: string) => [
      { path: `queues/${queueName}` },
      { path: `queues/${queueName}/tasks` },
      { path: `tasks/${task}` },
      { path: `tasks/${task}/why` },
    ];
    const writes = (queueName: string, task: string) => [
      { method: 'POST', path: `queues/${queueName}/tasks`, body: {} },
      { method: 'POST', path: `queues/${queueName}/tasks/actions`, body: { action: 'hold', ids: [task] } },
      { method: 'PATCH', path: `queues/${queueName}`, body: { threads: 3 } },
      { method: 'POST', path: `tasks/${task}/cancel` },
    ];
    expect(await statuses('alice', [...reads(name, id), ...writes(name, id)])).toEqual([
      200, 200, 200, 200, 201, 200, 200, 200,
    ]);
    expect(await statuses('carol', [...reads(name, id), ...writes(name, id)])).toEqual([
      200, 200, 200, 200, 403, 403, 403, 403,
    ]);
    // A user has nothing from what is said of a client of that name.
    expect(await statuses('bob', reads(name, id))).toEqual([403, 403, 403, 403]);
    expect(await statuses('alice', [...reads(other, ofOther), ...writes(other, ofOther)])).toEqual(Array(8).fill(403));
    expect(await statuses('alice', [{ path: 'tasks' }, { path: 'queues' }])).toEqual([403, 403]);
    await server.auth.groups.remove(server.org, 'task_readers', ME);
  });

  it('its own writers may not choose whom it admits, nor what it runs', async () => {
    const { name } = await queue({ writers: ['alice'] });
    const patch = (body: object) => ({ method: 'PATCH', path: `queues/${name}`, body });
    expect(
      await statuses('alice', [patch({ writers: ['bob'] }), patch({ plugin: 'x' }), patch({ weight: 2 })]),
    ).toEqual([403, 403, 200]);
    expect(await statuses('admin', [patch({ writers: ['bob'] })])).toEqual([200]);
    const token = await server.token('admin');
    const [status, code] = await refused(await server.send({ ...patch({ writers: [] }), token }));
    expect([status, code]).toEqual([403, 'signature_required']);
  });

  it('actions on a queue touch no task of another', async () => {
    const { name } = await queue();
    const { name: other } = await queue();
    const id = await addOne(other, {});
    const body = { action: 'cancel', ids: [id] };
    const answer = await server.json({ method: 'POST', path: `queues/${name}/tasks/actions`, body });
    expect(answer).toMatchObject({ acted: 0, refused: [{ reason: 'it does not exist' }] });
    const everything = { action: 'cancel', where: '' };
    await server.json({ method: 'POST', path: `queues/${name}/tasks/actions`, body: everything });
    expect(await server.json({ path: `tasks/${id}` })).toMatchObject({ status: 'queued' });
  });
});

describe('runs of a task', () => {
  it('are shown with those that are over, and their output: inline, in part, of any of them', async () => {
    const { id: queueId } = await queue();
    const id = numbered(0xfff1);
    const about = { id, org_id: server.org.id, queue_id: queueId };
    const ended = { status: 1, attempt: 2, node: 'web2', started_at: 1, ended_at: 2, complete: 1 };
    await server.test.put(taskRow({ ...about, ...ended, stdout: 'hello, world', stderr: '' }));
    const first = { task_id: id, attempt: 1, node: 'web1', status: 2, reason: 'exit 1', ended_at: 1 };
    await server.test.store.transact((trx) =>
      trx
        .insertInto('task_attempts')
        .values({ ...first, stdout: 'oh no' })
        .execute(),
    );
    expect(await server.json({ path: `tasks/${id}/attempts` })).toMatchObject([
      { attempt: 1, node: 'web1', status: 'failed', reason: 'exit 1' },
      { attempt: 2, node: 'web2', status: 'succeeded' },
    ]);
    expect(await server.json({ path: `tasks/${id}/attempts?after=1` })).toMatchObject([{ attempt: 2 }]);
    const output = async (path: string, headers = {}) => {
      const answer = await server.send({ path: `tasks/${id}/output/${path}`, headers });
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

describe('feeds', () => {
  /** Events of a feed until there are so many, or it ends. */
  async function events(response: Response, most: number) {
    const told: { event: string; id: string; data: Record<string, unknown> }[] = [];
    let text = '';
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString();
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
        if (!block.startsWith(':'))
          told.push({ event: field('event'), id: field('id'), data: JSON.parse(field('data')) });
      }
      if (told.length >= most) break;
    }
    return told;
  }

  it('of a queue tells what happens from now on, and goes on after an event', async () => {
    const { name, id: queueId } = await queue();
    const feed = await server.send({ path: `queues/${name}/feed` });
    const id = await addOne(name, {});
    await server.json({ method: 'POST', path: `tasks/${id}/cancel` });
    const told = await events(feed, 2);
    expect(told).toMatchObject([
      { event: 'task.added', data: { queue: queueId, task: id, count: 1, by: 'admin' } },
      { event: 'task.ended', data: { task: id, status: 'cancelled', code: -5, node: null } },
    ]);
    const headers = { 'last-event-id': told[0]?.id ?? '' };
    const again = await events(await server.send({ path: `queues/${name}/feed`, headers }), 1);
    expect(again).toEqual([told[1]]);
  });

  it('breaks off when the queue admits its reader no more', async () => {
    const members = { users: [], clients: [], groups: [] };
    await server.auth.groups.put(server.org, 'task_readers', members, ME);
    const { name } = await queue({ readers: ['alice', 'bob'] });
    const path = `queues/${name}/feed`;
    const alice = await server.send({ path, as: 'alice' });
    await server.json({ method: 'PATCH', path: `queues/${name}`, body: { readers: ['bob'] } });
    await expect(events(alice, 5)).rejects.toThrow();
    await server.auth.groups.remove(server.org, 'task_readers', ME);
  });

  it('of a queue ends with it', async () => {
    const { name } = await queue();
    const feed = await server.send({ path: `queues/${name}/feed` });
    await server.send({ method: 'DELETE', path: `queues/${name}` });
    expect((await events(feed, 5)).map(({ event }) => event)).toEqual(['queue.removed']);
  });

  it('of a task tells how it stands, now and after each change, until it has ended', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    const feed = await server.send({ path: `tasks/${id}/feed` });
    await addOne(name, {});
    const told = events(feed, 10);
    await server.json({ method: 'POST', path: `tasks/${id}/cancel` });
    const all = await told;
    expect(all.at(-1)).toMatchObject({ event: 'task', data: { id, status: 'cancelled' } });
    expect(new Set(all.map(({ event, data }) => `${event} ${data.id}`))).toEqual(new Set([`task ${id}`]));
  });
});
