import type { OutputStream } from '@muster/platform/output';
import { afterEach, describe, expect, test } from 'vitest';
import { saveTask, type TaskRow } from '../../src/repository/writes.js';
import { type Asked, type Interface, openInterface } from '../support/disbatch-interface.js';

const open: Interface[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function start(asked: Asked = {}): Promise<Interface> {
  const dci = await openInterface(asked);
  open.push(dci);
  return dci;
}

/** A queue of tasks, with n from 0 on. */
async function tasks(dci: Interface, count: number): Promise<{ queue: string; ids: string[] }> {
  const { body } = await dci.post('/queues', { name: 'demo', plugin: 'Disbatch::Plugin::Demo' });
  const added = await dci.post(
    '/tasks/demo',
    Array.from({ length: count }, (_, n) => ({ n, odd: n % 2 === 1 })),
  );
  const { inserted } = added.body['MongoDB::InsertManyResult'];
  return {
    queue: body.id.$oid ?? body.id,
    ids: inserted.map(({ _id }: { _id: { $oid?: string } }) => _id.$oid ?? _id),
  };
}

async function end(dci: Interface, id: string, given: Partial<TaskRow>): Promise<void> {
  const { read } = dci.test.store;
  const row = await read.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  await dci.test.store.commit([saveTask({ ...row, status: 1, attempt: 1, complete: 1, ...given })]);
}

async function stream(dci: Interface, id: string, which: OutputStream, data: Buffer): Promise<void> {
  await dci.test.store.transact(async (trx) => {
    for (let position = 0; position < data.length; position += 65_536) {
      const some = data.subarray(position, position + 65_536);
      const row = { subject: `task/${id}`, part: '1', stream: which, position, data: some };
      await trx.insertInto('output_chunks').values(row).execute();
    }
  });
}

describe('POST /tasks/search', () => {
  const numbers = async (dci: Interface, body: object): Promise<number[]> =>
    (await dci.post('/tasks/search', body)).body.map((task: { params: { n: number } }) => task.params.n);

  test('answers in the order in which tasks were added, 100 at most, from where it is told', async () => {
    const dci = await start();
    await tasks(dci, 450);
    expect(await numbers(dci, {})).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(await numbers(dci, { options: { skip: 430, limit: 3 } })).toEqual([430, 431, 432]);
    expect(await numbers(dci, { filter: { 'params.odd': true }, options: { skip: 200 } })).toHaveLength(25);
    expect((await dci.post('/tasks/search', { filter: { 'params.odd': true }, count: 1 })).body).toEqual({
      count: 225,
    });
    const refused = await dci.post('/tasks/search', { options: { limit: 101 } });
    expect(refused).toMatchObject({ status: 400, body: { error: 'limit cannot exceed 100' } });
  });

  test('sorts, by the id and by anything else', async () => {
    const dci = await start();
    await tasks(dci, 5);
    expect(await numbers(dci, { options: { sort: { _id: -1 }, limit: 2 } })).toEqual([4, 3]);
    expect(await numbers(dci, { options: { sort: { 'params.odd': -1 }, limit: 3 } })).toEqual([1, 3, 0]);
    expect(await numbers(dci, { options: { sort: ['params.odd', 1, 'params.n', -1], skip: 1 } })).toEqual([2, 0, 3, 1]);
  });

  test('finds what comes after an id, and before one', async () => {
    const dci = await start();
    const { queue, ids } = await tasks(dci, 6);
    const filter = { queue, _id: { $gt: { $oid: ids[1] }, $lt: { $oid: ids[4] } } };
    expect(await numbers(dci, { filter })).toEqual([2, 3]);
    expect(await numbers(dci, { filter, options: { sort: { _id: -1 } } })).toEqual([3, 2]);
    expect(await numbers(dci, { filter: { _id: { $in: [{ $oid: ids[5] }, { $oid: ids[0] }] } } })).toEqual([0, 5]);
    expect(await numbers(dci, { filter: { ...filter, status: { $gte: -2, $lt: 0 } }, options: { limit: 1 } })).toEqual([
      2,
    ]);
    expect((await dci.post('/tasks/search', { filter, count: 1 })).body).toEqual({ count: 2 });
  });

  test('does not find tasks of other organizations', async () => {
    const dci = await start();
    const { queue, ids } = await tasks(dci, 2);
    const elsewhere = { org_id: 'e'.repeat(32) };
    await dci.test.store.transact((trx) =>
      trx
        .updateTable('tasks')
        .set(elsewhere)
        .where('id', '=', ids[0] ?? '')
        .execute(),
    );
    expect(await numbers(dci, { filter: { queue } })).toEqual([1]);
    expect(await numbers(dci, {})).toEqual([1]);
    expect(await numbers(dci, { filter: { _id: { $oid: ids[0] } } })).toEqual([]);
    expect((await dci.post('/tasks/search', { filter: { queue }, count: 1 })).body).toEqual({ count: 1 });
    expect((await dci.get(`/tasks/${ids[0]}`)).status).toBe(404);
  });

  test('shows the fields that are asked for', async () => {
    const dci = await start();
    await tasks(dci, 1);
    const shown = async (projection: unknown) => (await dci.post('/tasks/search', { options: { projection } })).body[0];
    expect(Object.keys(await shown({ status: 1 }))).toEqual(['_id', 'status']);
    expect(await shown({ 'params.n': 1, _id: 0 })).toEqual({ params: { n: 0 } });
    expect(await shown({ params: 0 })).not.toHaveProperty('params');
    expect(await dci.post('/tasks/search', { options: { projection: { a: 1, b: 0 } } })).toMatchObject({ status: 400 });
  });

  test.each([
    [{ filter: [] }, 'filter and options must be name/value objects'],
    [{ options: 'x' }, 'filter and options must be name/value objects'],
    [{ filter: { queue: 'demo' } }, 'Bad OID passed: "demo"'],
    [{ filter: { _id: { $oid: 'x' } } }, 'Bad OID passed: "x"'],
    [{ filter: { a: { $regex: 'x' } } }, expect.stringMatching(/^unsupported operator \$regex/)],
    [{ options: { skip: -1 } }, 'skip must be a non-negative integer'],
  ])('refuses %j', async (body, error) => {
    const dci = await start();
    expect(await dci.post('/tasks/search', body)).toMatchObject({ status: 400, body: { error } });
  });

  test('refuses JSON that cannot be read', async () => {
    const dci = await start();
    const headers = { 'content-type': 'application/json' };
    const refused = await dci.send('POST', '/tasks/search', { headers, body: '{' });
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining('malformed JSON') } });
  });
});

describe('GET /tasks', () => {
  test('reads JSON of a GET, as the command line of 4.4 sends it', async () => {
    const dci = await start({ dialect: '4.4' });
    const { queue } = await tasks(dci, 30);
    const { request } = await import('node:http');
    const body = JSON.stringify({ '.count': 0, '.fields': null, '.limit': 20, '.skip': 5, '.terse': 0, queue });
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      const sent = request(`${dci.url}/tasks`, { method: 'GET', headers }, (response) => {
        let got = '';
        response.setEncoding('utf8').on('data', (some: string) => (got += some));
        response.on('end', () => resolve(got));
      });
      sent.on('error', reject).end(body);
    });
    const found = JSON.parse(text);
    expect(found).toHaveLength(20);
    expect(found[0].params.n).toBe(5);
  });

  test('answers an object when there is none, and the task itself when one is asked for', async () => {
    const dci = await start({ dialect: '4.4' });
    const { queue, ids } = await tasks(dci, 2);
    expect((await dci.get(`/tasks?queue=${queue}&status=5`)).text).toBe('{}');
    expect((await dci.get(`/tasks?queue=${queue}&.limit=1`)).body._id).toBe(ids[0]);
    expect((await dci.get(`/tasks?id=${ids[1]}`)).body).toHaveLength(1);
    expect((await dci.get(`/tasks?id=${ids[0]}&id=${ids[1]}`)).body).toHaveLength(2);
    const fields = encodeURIComponent('["id","params"]');
    expect(Object.keys((await dci.get(`/tasks?queue=${queue}&.limit=1&.fields=${fields}`)).body)).toEqual([
      '_id',
      'params',
    ]);
    expect((await dci.get('/tasks?id=nonsense')).body.error).toMatch(/^Bad OID passed/);
  });
});

describe('output', () => {
  const LONG = Buffer.from('ä'.repeat(50_000));

  async function ended(asked: Asked): Promise<{ dci: Interface; id: string }> {
    const dci = await start(asked);
    const { ids } = await tasks(dci, 1);
    const [id = ''] = ids;
    await stream(dci, id, 'stdout', LONG);
    await end(dci, id, { stdout_bytes: LONG.length, stderr: 'oops', exit_code: 3 });
    return { dci, id };
  }

  test('is terse unless more is asked for, in 4.0', async () => {
    const { dci } = await ended({});
    const shown = async (terse?: boolean) => (await dci.post('/tasks/search', { filter: {}, terse })).body[0];
    expect(await shown()).toMatchObject({
      stdout: { $oid: expect.any(String) },
      stderr: '[terse mode]',
      complete: true,
    });
    expect(await shown(false)).toMatchObject({ stdout: LONG.toString(), stderr: 'oops' });
    expect(await shown()).not.toHaveProperty('cmdExit');
  });

  test('is in the task, or an id that .full replaces by it, in 4.4', async () => {
    const { dci, id } = await ended({ dialect: '4.4' });
    const shown = async (option = '') => (await dci.get(`/tasks/${id}${option}`)).body;
    expect(await shown()).toMatchObject({ stderr: 'oops', cmdExit: 3, cmdErr: 'exit status 3' });
    expect((await shown()).stdout).toMatch(/^[0-9a-f]{24}$/);
    expect((await shown('?.full=1')).stdout).toBe(LONG.toString());
    expect(await shown('?.full=1&.terse=1')).toMatchObject({ stderr: '[terse mode]' });
  });

  test.each([
    ['auto', 'id', 'text'],
    ['true', 'id', 'id'],
    ['false', 'text', 'text'],
  ] as const)('row 29: with gfs %s long output is shown as %s, short output as %s', async (gfs, long, short) => {
    const { dci, id } = await ended({ dialect: '4.4', settings: { gfs } });
    const { stdout, stderr } = (await dci.get(`/tasks/${id}`)).body;
    const kind = (text: string) => (/^[0-9a-f]{24}$/.test(text) ? 'id' : 'text');
    expect([kind(stdout), kind(stderr)]).toEqual([long, short]);
    const full = (await dci.get(`/tasks/${id}?.full=1`)).body;
    expect(full).toMatchObject({ stdout: LONG.toString(), stderr: 'oops' });
  });

  test('that was streamed and is short is shown in the task', async () => {
    const dci = await start({ dialect: '4.4' });
    const [id = ''] = (await tasks(dci, 1)).ids;
    await stream(dci, id, 'stdout', Buffer.from('short'));
    await end(dci, id, { stdout_bytes: 5 });
    expect((await dci.get(`/tasks/${id}`)).body).toMatchObject({ stdout: 'short', stderr: null });
  });
});
