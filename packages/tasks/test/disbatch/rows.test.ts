import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { addDocument } from '../../src/disbatch/writes.js';
import { type Asked, type Interface, openInterface } from '../support/disbatch-interface.js';

/** The acceptance table of the original's own test scripts: sheet §9.1, by its numbers. */

const PLUGIN = 'Disbatch::Plugin::Demo';
const DIALECTS = ['4.0', '4.4'] as const;
const open: Interface[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function start(asked: Asked = {}): Promise<Interface> {
  const dci = await openInterface(asked);
  open.push(dci);
  return dci;
}

function heartbeat({ controller, test }: Interface): { id: string; node: string; seenAt: number } {
  const node = { id: controller.nextId(), node: 'mig01.example.com', seenAt: test.clock.now() };
  controller.shownNodes.push({ ...node, live: true, maxthreads: null, max: 4, running: 0, waiting: 0 });
  return node;
}

async function queue(dci: Interface, name = 'demo'): Promise<string> {
  const { body } = await dci.post('/queues', { name, plugin: PLUGIN });
  return body.id;
}

const USERS = [
  { username: 'foo', migration: 'test' },
  { username: 'bar', migration: 'test' },
  { username: 'else', migration: 'other' },
];

async function users({ test, organization }: Interface): Promise<void> {
  await test.store.commit(
    USERS.map((user, index) =>
      addDocument({
        org_id: organization.id,
        collection: 'users',
        position: index + 1,
        document: JSON.stringify(user),
      }),
    ),
  );
}

const matched = (modified: number) =>
  expect.objectContaining({
    'MongoDB::UpdateResult': expect.objectContaining({ matched_count: 1, modified_count: modified }),
  });

test('row 1: the page at the root, its scripts and its icon', async () => {
  const webRoot = mkdtempSync(join(tmpdir(), 'muster-web-'));
  try {
    writeFileSync(join(webRoot, 'index.html'), '<app-root></app-root><script src="main-1.js"></script>');
    writeFileSync(join(webRoot, 'queues.js'), 'queues();');
    writeFileSync(join(webRoot, 'favicon.ico'), 'icon');
    const dci = await start({ webRoot, dialect: '4.4' });
    const page = await dci.get('/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('cache-control')).toBe('no-cache');
    expect(page.text).toContain('<app-root></app-root>');
    const script = await dci.get('/queues.js');
    expect(script.headers.get('content-type')).toMatch(/javascript/);
    expect((await dci.get('/favicon.ico')).text).toBe('icon');
    for (const path of ['/nowhere.js', '/..%2f..%2fetc%2fpasswd', '/%2e%2e/%2e%2e/etc/passwd']) {
      const missing = await dci.get(path);
      expect([403, 404]).toContain(missing.status);
      expect(missing.text).not.toContain('root:');
    }
    expect(await dci.get('/nowhere')).toMatchObject({ status: 404, text: 'This is the void' });
  } finally {
    rmSync(webRoot, { recursive: true });
  }
});

test('row 1: without a page of one’s own there is a plain one', async () => {
  const dci = await start();
  const page = await dci.get('/');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toMatch(/^text\/html/);
});

describe.each(DIALECTS)('dialect %s', (dialect) => {
  const oid = (id: string): unknown => (dialect === '4.0' ? { $oid: id } : id);

  test('rows 2, 3 and 6: there are no queues and no nodes, and plugins are a list', async () => {
    const dci = await start({ dialect });
    expect(await dci.get('/queues')).toMatchObject({ status: 200, text: '[]' });
    expect(await dci.get('/nodes')).toMatchObject({ status: 200, text: '[]' });
    const plugins = await dci.get('/plugins');
    expect(plugins.body).toEqual([PLUGIN]);
    expect(plugins.headers.get('content-type')).toBe('application/json');
  });

  test('rows 7 and 8: a node that was heard of, in the list, by name and by id', async () => {
    const dci = await start({ dialect });
    const { id, node, seenAt } = heartbeat(dci);
    const { body } = await dci.get('/nodes');
    expect(body).toHaveLength(1);
    expect(body[0]).toMatchObject({ id, _id: oid(id), node, timestamp: seenAt });
    expect(body[0].live).toBe(dialect === '4.4' ? true : undefined);
    expect((await dci.get(`/nodes/${node}`)).body).toEqual(body[0]);
    expect((await dci.get(`/nodes/${id}`)).body).toEqual(body[0]);
    expect(await dci.get('/nodes/nobody')).toMatchObject({ status: 400, body: { error: expect.any(String) } });
  });

  test('rows 9 and 10: maxthreads of a node, by name and by id', async () => {
    const dci = await start({ dialect });
    const { id, node } = heartbeat(dci);
    expect(await dci.post(`/nodes/${node}`, { maxthreads: 5 })).toMatchObject({ status: 200, body: matched(1) });
    expect((await dci.get(`/nodes/${node}`)).body.maxthreads).toBe(5);
    expect(await dci.post(`/nodes/${id}`, { maxthreads: null })).toMatchObject({ status: 200, body: matched(1) });
    expect((await dci.get(`/nodes/${node}`)).body).toHaveProperty('maxthreads', null);
  });

  test('row 9: what cannot be set of a node', async () => {
    const dci = await start({ dialect });
    const { node } = heartbeat(dci);
    const refused = async (body: unknown, path = `/nodes/${node}`) => {
      const answer = await dci.post(path, body);
      expect(answer.status).toBe(400);
      return answer.body;
    };
    expect(await refused({})).toEqual({ error: 'No params' });
    expect(await refused({ threads: 1 })).toEqual({ error: 'Invalid param', param: 'threads' });
    for (const maxthreads of [-1, 1.5, 'x', '']) {
      expect(await refused({ maxthreads })).toEqual({ error: 'maxthreads must be a non-negative integer or null' });
    }
    expect((await refused({ maxthreads: 1 }, '/nodes/nobody')).error['MongoDB::UpdateResult'].matched_count).toBe(0);
  });

  test('row 11: a queue is made, and is paused until its threads are set', async () => {
    const dci = await start({ dialect });
    const body = { name: 'demo', plugin: PLUGIN, ...(dialect === '4.4' && { sort: 'fifo' }) };
    const made = await dci.post('/queues', body);
    expect(made.status).toBe(200);
    expect(made.body['MongoDB::InsertOneResult'].inserted_id).toEqual(oid(made.body.id));
    expect(dci.controller.queue(dci.organization.id, 'demo')).toMatchObject({ state: 'paused', threads: null });
    const [first] = dci.controller.did;
    expect(first?.by.record).toHaveLength(2);
  });

  test('row 11: what cannot be made, in the order of the original', async () => {
    const dci = await start({ dialect });
    const refused = async (body: Record<string, unknown>) => {
      const answer = await dci.post('/queues', body);
      expect(answer.status).toBe(400);
      return answer.body;
    };
    expect(await refused({ name: '', plugin: 'x', bad: 1 })).toEqual({ error: 'name and plugin required' });
    expect(await refused({ name: 'a' })).toEqual({ error: 'name and plugin required' });
    expect(await refused({ name: 'a', plugin: 'x', bad: 1 })).toEqual({ error: 'Invalid param', param: 'bad' });
    expect(await refused({ name: 'a', plugin: 'x' })).toEqual({ error: 'Unknown plugin', plugin: 'x' });
    if (dialect === '4.4') {
      expect(await refused({ name: 'a', plugin: PLUGIN, threads: -1, sort: 'x' })).toEqual({
        error: 'threads must be a non-negative integer or null',
      });
      expect(await refused({ name: 'a', plugin: PLUGIN, sort: 'x' })).toEqual({
        error: 'sort must be "fifo", "lifo", or "default"',
      });
    } else {
      expect(await refused({ name: 'a', plugin: PLUGIN, threads: 1 })).toEqual({
        error: 'Invalid param',
        param: 'threads',
      });
    }
    await queue(dci, 'demo');
    const twice = await refused({ name: 'demo', plugin: PLUGIN });
    expect(twice).toMatchObject({ id: null, error: expect.any(String), 'MongoDB::DuplicateKeyError': {} });
  });

  test('rows 12, 13 and 14: tasks are added by id and by name of the queue, and counted', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    const three = [{ commands: 'a' }, { commands: 'b' }, { commands: 'c' }];
    const by40 = await dci.post(`/tasks/${id}`, three);
    expect(by40.status).toBe(200);
    expect(by40.body['MongoDB::InsertManyResult']).toMatchObject({ acknowledged: 1 });
    expect(by40.body['MongoDB::InsertManyResult'].inserted).toHaveLength(3);
    const two = await dci.post('/tasks', { queue: 'demo', params: [{ commands: 'b' }, { commands: 'e' }] });
    expect(two.body['MongoDB::InsertManyResult'].inserted).toEqual([
      { index: 0, _id: oid(expect.any(String) as unknown as string) },
      { index: 1, _id: oid(expect.any(String) as unknown as string) },
    ]);
    expect((await dci.post('/tasks/search', { filter: { queue: id }, count: 1 })).body).toEqual({ count: 5 });
    expect((await dci.get(`/tasks?queue=${id}&.count=1`)).body).toEqual({ count: 5 });
  });

  test('row 15: tasks are counted by what is in their parameters', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    await dci.post(`/tasks/${id}`, [{ commands: 'a' }, { commands: 'b' }, { commands: 'b' }]);
    const filter = { queue: { $oid: id }, 'params.commands': 'b' };
    expect((await dci.post('/tasks/search', { filter, count: true })).body).toEqual({ count: 2 });
  });

  test("row 15': GET /tasks takes only fields of its indexes, to which settings add", async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    const refused = await dci.get(`/tasks?queue=${id}&params.commands=b&.count=1`);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({
      error: 'non-indexed params given',
      invalid_params: ['params.commands'],
      path: '/tasks',
    });
    const indexed = await start({ dialect, settings: { indexes: [['queue', 'params.commands']] } });
    const other = await queue(indexed);
    await indexed.post(`/tasks/${other}`, [{ commands: 'a' }, { commands: 'b' }, { commands: 'b' }]);
    const found = await indexed.get(`/tasks?queue=${other}&params.commands=b&.count=1`);
    expect(found.body).toEqual({ count: 2 });
    // A field of an index needs those to its left.
    expect((await indexed.get('/tasks?params.commands=b')).body.invalid_params).toEqual(['params.commands']);
  });

  test('row 16: a search whose limit, skip and terse are null', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    await dci.post(`/tasks/${id}`, Array(5).fill({ commands: 'a' }));
    const body = { filter: { queue: id }, options: { limit: null, skip: null }, terse: null };
    const found = await dci.post('/tasks/search', body);
    expect(found.body).toHaveLength(5);
    expect(found.body[0]).toEqual({
      _id: oid(found.body[0]._id.$oid ?? found.body[0]._id),
      queue: oid(id),
      params: { commands: 'a' },
      status: -2,
      node: null,
      ctime: 1_700_000_000.123,
      mtime: 1_700_000_000.123,
      stdout: null,
      stderr: null,
    });
  });

  test('row 17: tasks are made of the documents of a collection, by id and by name', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    await users(dci);
    const filter = { migration: 'test' };
    const params = { user1: 'document.username', migration: 'document.migration', commands: '*', gone: 'document.a.b' };
    const by40 = await dci.post(`/tasks/${id}/users`, { filter, params });
    expect(by40.body['MongoDB::InsertManyResult'].inserted).toHaveLength(2);
    const by44 = await dci.post('/tasks', { queue: 'demo', collection: 'users', filter, params });
    expect(by44.body['MongoDB::InsertManyResult'].inserted).toHaveLength(2);
    const { body } = await dci.post('/tasks/search', { filter: { queue: id } });
    expect(body.map((task: { params: unknown }) => task.params)).toEqual([
      { user1: 'foo', migration: 'test', commands: '*', gone: null },
      { user1: 'bar', migration: 'test', commands: '*', gone: null },
      { user1: 'foo', migration: 'test', commands: '*', gone: null },
      { user1: 'bar', migration: 'test', commands: '*', gone: null },
    ]);
    const none = await dci.post('/tasks', { queue: 'demo', collection: 'nowhere', filter: {}, params });
    expect(none).toMatchObject({ status: 400, body: { error: 'Unknown error', 'MongoDB::InsertManyResult': {} } });
  });

  test('row 18: a queue with its counts, and without those that are orphaned or held', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    dci.controller.counts.set(id, { queued: 9, orphaned: 2, held: 1, cancelled: 1 });
    const shown = { id, plugin: PLUGIN, name: 'demo', threads: null, queued: 9, running: 0, completed: 0 };
    expect((await dci.get('/queues')).body).toEqual([shown]);
    expect((await dci.get('/queues/demo')).body).toEqual(shown);
    expect((await dci.get('/scheduler-json')).body).toEqual([shown]);
  });

  test('rows 19 and 21: threads of a queue, by id and by name, also as a form says them', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    expect(await dci.post(`/queues/${id}`, { threads: 1 })).toMatchObject({ status: 200, body: matched(1) });
    expect((await dci.get('/queues')).body[0].threads).toBe(1);
    expect(dci.controller.queue(dci.organization.id, id)?.state).toBe('open');
    expect(await dci.post('/queues/demo', { threads: 0 })).toMatchObject({ status: 200, body: matched(1) });
    expect((await dci.get('/queues')).body[0].threads).toBe(0);
    expect(await dci.form('/queues/demo', { threads: '0' })).toMatchObject({ status: 200, body: matched(0) });
    expect(await dci.form('/queues/demo', { threads: '5' })).toMatchObject({ status: 200, body: matched(1) });
    expect((await dci.get('/queues')).body[0].threads).toBe(5);
  });

  test('row 19: what cannot be changed, in the order of the original', async () => {
    const dci = await start({ dialect });
    await queue(dci);
    const refused = async (body: Record<string, unknown>, path = '/queues/demo') => {
      const answer = await dci.post(path, body);
      expect(answer.status).toBe(400);
      return answer.body;
    };
    expect(await refused({})).toEqual({ error: 'no params' });
    expect(await refused({ bad: 'field' })).toEqual({ error: 'unknown param', param: 'bad' });
    expect(await refused({ plugin: 'Fake', threads: 'x' })).toEqual({ error: 'unknown plugin', plugin: 'Fake' });
    const orNull = dialect === '4.4' ? ' or null' : '';
    expect(await refused({ threads: 'zero' })).toEqual({ error: `threads must be a non-negative integer${orNull}` });
    expect(await refused({ name: ['x'] })).toEqual({ error: 'name must be a string' });
    expect(await refused({ threads: 1 }, '/queues/nowhere')).toMatchObject({
      'MongoDB::UpdateResult': { matched_count: 0, modified_count: 0 },
      error: expect.stringContaining('MongoDB::UpdateResult'),
    });
    await queue(dci, 'other');
    expect(await refused({ name: 'other' })).toEqual({ error: expect.any(String) });
  });

  test('row 22: tasks are counted by status', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    await dci.post(`/tasks/${id}`, Array(8).fill({ commands: 'a' }));
    expect((await dci.post('/tasks/search', { filter: { status: -2 }, count: 1 })).body).toEqual({ count: 8 });
    expect((await dci.get(`/tasks?queue=${id}&status=-2&.count=1`)).body).toEqual({ count: 8 });
  });

  test('rows 24 and 26: one task, as JSON whatever is accepted', async () => {
    const dci = await start({ dialect });
    const { body } = await dci.post(`/tasks/${await queue(dci)}`, [{ commands: 'a' }]);
    const given = body['MongoDB::InsertManyResult'].inserted[0]._id;
    const id = given.$oid ?? given;
    const shown = await dci.send('GET', `/tasks/${id}`, { headers: { accept: 'text/html' } });
    expect(shown.headers.get('content-type')).toBe('application/json');
    expect(shown.body).toMatchObject({ _id: oid(id), status: -2, stdout: null, ctime: '2023-11-14T22:13:20' });
    expect(shown.text).toContain('\n');
    expect((await dci.get(`/tasks/${id}?.epoch=1&.pretty=0`)).body.ctime).toBe(1_700_000_000.123);
  });

  test('row 25: an option that one task does not have', async () => {
    const dci = await start({ dialect });
    const refused = await dci.get('/tasks/000000000000000000000000?.limit=5');
    expect(refused).toMatchObject({ status: 400, body: { error: 'Invalid option', option: '.limit' } });
  });

  test('row 27: a task that there is not', async () => {
    const dci = await start({ dialect });
    const missing = await dci.get('/tasks/000000000000000000000000');
    expect(missing.status).toBe(404);
    expect(missing.body).toEqual({ error: 'no task with id 000000000000000000000000' });
  });

  test('rows 28 and 30: a queue is deleted by id and by name, and its tasks are kept', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    await dci.post(`/tasks/${id}`, [{ commands: 'a' }]);
    const gone = await dci.send('DELETE', `/queues/${id}`);
    expect(gone).toMatchObject({ status: 200, body: { 'MongoDB::DeleteResult': { deleted_count: 1 } } });
    expect((await dci.post('/tasks/search', { filter: { queue: id }, count: 1 })).body).toEqual({ count: 1 });
    await queue(dci, 'second');
    expect((await dci.send('DELETE', '/queues/second')).body['MongoDB::DeleteResult'].deleted_count).toBe(1);
    expect((await dci.get('/queues')).text).toBe('[]');
    expect(await dci.send('DELETE', '/queues/second')).toMatchObject({
      status: 400,
      body: { 'MongoDB::DeleteResult': { deleted_count: 0 }, error: expect.stringContaining('MongoDB::DeleteResult') },
    });
  });
});

test('row 4: what there is', async () => {
  const dci = await start({ dialect: '4.4' });
  const { body } = await dci.get('/info');
  expect(body.database).toBe('default');
  expect(body.routes.GET).toContain('/tasks/:id');
  expect(body.routes.DELETE).toEqual(['/queues/:queue']);
  expect(body.dashboard).toEqual({ refresh_ms: 30_000, live_window_ms: 15_000 });
});

test('row 5: GET /tasks alone says how to ask', async () => {
  const dci = await start({ dialect: '4.4' });
  const { body } = await dci.get('/tasks');
  expect(body.schema).toMatchObject({ verb: 'GET', limit: 100, params: { id: { repeatable: 'yes' } } });
  expect(body.indexes).toEqual([['id'], ['node', 'status', 'queue', 'id'], ['queue', 'status']]);
  const everything = await dci.get('/tasks?.skip=1');
  expect(everything.body.error).toMatch(/^refusing to return everything/);
});

test('row 31: monitoring', async () => {
  const dci = await start({ dialect: '4.4' });
  expect((await dci.get('/monitoring')).body.disbatch).toEqual({
    status: 'WARNING',
    message: 'No Disbatch nodes found',
  });
  const { node } = heartbeat(dci);
  expect((await dci.get('/monitoring')).body).toEqual({
    disbatch: {
      status: 'OK',
      message: 'Disbatch is running on one or more nodes',
      nodes: { fresh: { [node]: 0 } },
    },
    queuebalance: { status: 'OK', message: 'queuebalance disabled' },
  });
  const [one] = dci.controller.shownNodes;
  if (one !== undefined) dci.controller.shownNodes[0] = { ...one, live: false, seenAt: one.seenAt - 20_000 };
  expect((await dci.get('/monitoring')).body.disbatch).toEqual({
    status: 'CRITICAL',
    message: 'No active Disbatch nodes found',
    nodes: { stale: { [node]: 20 } },
  });
  const off = await start({ settings: { monitoring: false } });
  expect((await off.get('/monitoring')).body.disbatch).toEqual({ status: 'OK', message: 'monitoring disabled' });
});

const PLAN = { max_tasks: { '* 07:00': 1, '* 19:00': 5 }, queues: [['bulk'], ['api'], ['oneoff']] };

async function balanced(): Promise<Interface> {
  const dci = await start({ dialect: '4.4' });
  for (const name of ['bulk', 'api', 'oneoff']) await queue(dci, name);
  return dci;
}

test('rows 32 and 33: the balance document, before and after it is set', async () => {
  const dci = await balanced();
  const before = await dci.send('GET', '/balance', { headers: { accept: 'text/html' } });
  expect(before.body).toEqual({
    known_queues: ['api', 'bulk', 'oneoff'],
    notice: 'balance document not found',
    settings: { enabled: false, pretend: false },
  });
  expect(await dci.post('/balance', PLAN)).toMatchObject({
    status: 200,
    body: { status: 'success: queuebalance modified' },
  });
  const after = (await dci.get('/balance')).body;
  expect(after).toMatchObject(PLAN);
  expect(after).not.toHaveProperty('notice');
});

test.each<[string, unknown]>([
  ['nothing', {}],
  ['day 7', { ...PLAN, max_tasks: { '7 07:00': 1 } }],
  ['value 1.1', { ...PLAN, max_tasks: { '* 07:00': 1.1 } }],
  ['a name with a space', { ...PLAN, queues: [['bu lk']] }],
  ['two names in one', { ...PLAN, queues: [['bulk,bulk']] }],
  ['a queue twice', { ...PLAN, queues: [['bulk'], ['bulk']] }],
  ['a group that is no list', { ...PLAN, queues: ['bulk'] }],
  ['queues as text', { ...PLAN, queues: 'bulk' }],
  ['times as text', { ...PLAN, max_tasks: '* 07:00' }],
  ['no queues', { max_tasks: PLAN.max_tasks }],
  ['no times', { queues: PLAN.queues }],
  ['another key', { ...PLAN, extra: 1 }],
  ['an unknown queue', { ...PLAN, queues: [['nowhere']] }],
  ['a past end', { ...PLAN, disabled: 1 }],
])('row 34: a balance document with %s is refused', async (_, body) => {
  const dci = await balanced();
  await dci.post('/balance', PLAN);
  const before = (await dci.get('/balance')).text;
  const refused = await dci.post('/balance', body);
  expect(refused.status).toBe(400);
  expect(Object.keys(refused.body)).toEqual(['status']);
  expect(refused.body.status).toMatch(/^failed: invalid json passed/);
  expect((await dci.get('/balance')).text).toBe(before);
});
