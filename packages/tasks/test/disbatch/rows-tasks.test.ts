import { describe, expect, test } from 'vitest';
import { addDocument } from '../../src/disbatch/writes.js';
import type { Interface } from '../support/disbatch-interface.js';
import { DIALECTS, interfaces, queue } from '../support/disbatch-rows.js';

/** The acceptance table of the original's own test scripts, by its numbers (sheet §9.1): tasks. */

const start = interfaces();

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

describe.each(DIALECTS)('dialect %s', (dialect) => {
  const oid = (id: string): unknown => (dialect === '4.0' ? { $oid: id } : id);

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

  test('rows 15 and 15 with its mark, as the first command line of 4.2 asks: GET /tasks.json', async () => {
    const dci = await start({ dialect });
    const id = await queue(dci);
    await dci.post(`/tasks/${id}`, [{ commands: 'a' }, { commands: 'b' }]);
    expect((await dci.get(`/tasks.json?queue=${id}&.count=1`)).body).toEqual({ count: 2 });
    const refused = await dci.get('/tasks.json?status=-2');
    expect(refused).toMatchObject({ status: 400, body: { invalid_params: ['status'], path: '/tasks.json' } });
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
});

test('row 5: GET /tasks alone says how to ask', async () => {
  const dci = await start({ dialect: '4.4' });
  const { body } = await dci.get('/tasks');
  expect(body.schema).toMatchObject({ verb: 'GET', limit: 100, params: { id: { repeatable: 'yes' } } });
  expect(body.indexes).toEqual([['id'], ['node', 'status', 'queue', 'id'], ['queue', 'status']]);
  const everything = await dci.get('/tasks?.skip=1');
  expect(everything.body.error).toMatch(/^refusing to return everything/);
});
