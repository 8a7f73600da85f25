import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DIALECTS, heartbeat, interfaces, PLUGIN, queue } from '../support/disbatch-rows.js';

/** The acceptance table of the original's own test scripts, by its numbers (sheet §9.1): the page, nodes, queues. */

const start = interfaces();

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
    const queue = dci.controller.queue(dci.organization.id, 'demo');
    expect(queue).toMatchObject({ state: 'paused', threads: null });
    // Each command line reads the id in its own form, and dies on the other.
    const id = oid(queue?.id ?? '');
    expect(made.body).toMatchObject({ id, 'MongoDB::InsertOneResult': { inserted_id: id } });
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
