import { afterEach, beforeEach, expect, test } from 'vitest';
import { addDocument } from '../../src/disbatch/writes.js';
import { type Interface, openInterface } from '../support/disbatch-interface.js';

/** The routes of version 3 (sheet §4G). */

const PLUGIN = 'Disbatch::Plugin::Demo';
let dci: Interface;

beforeEach(async () => {
  dci = await openInterface();
});
afterEach(() => dci.close());

async function queue(): Promise<string> {
  const { body } = await dci.form('/start-queue-json', { type: PLUGIN, name: 'demo' });
  return body[1].$oid;
}

test('plugins are an object of names, asked for with GET and with POST', async () => {
  expect((await dci.get('/queue-prototypes-json')).body).toEqual({ [PLUGIN]: PLUGIN });
  expect((await dci.form('/queue-prototypes-json', {})).body).toEqual({ [PLUGIN]: PLUGIN });
});

test('a queue is made', async () => {
  const made = await dci.form('/start-queue-json', { type: PLUGIN, name: 'demo' });
  expect(made).toMatchObject({
    status: 200,
    body: [1, { $oid: expect.any(String) }, { 'MongoDB::InsertOneResult': {} }],
  });
  expect(await dci.form('/start-queue-json', { type: PLUGIN })).toMatchObject({
    status: 400,
    body: [0, 'type and name required'],
  });
  expect(await dci.form('/start-queue-json', { type: 'x', name: 'y' })).toMatchObject({
    status: 400,
    body: [0, 'unknown type'],
  });
  expect((await dci.form('/start-queue-json', { type: PLUGIN, name: 'demo' })).body[0]).toBe(0);
});

test('threads are set', async () => {
  const queueid = await queue();
  const set = await dci.form('/set-queue-attr-json', { queueid, attr: 'threads', value: '3' });
  expect(set).toMatchObject({ status: 200, body: { success: 1, 'MongoDB::UpdateResult': { modified_count: 1 } } });
  expect((await dci.get('/scheduler-json')).body[0].threads).toBe(3);
  const refused = async (values: Record<string, string>) => (await dci.form('/set-queue-attr-json', values)).body;
  expect(await refused({ queueid, attr: 'name', value: '3' })).toEqual({ success: 0, error: 'Invalid attr' });
  expect(await refused({ queueid, attr: 'threads' })).toEqual({ success: 0, error: 'You must supply a value' });
  expect(await refused({ attr: 'threads', value: '1' })).toEqual({ success: 0, error: 'You must supply a queueid' });
});

test('a queue is deleted', async () => {
  const id = await queue();
  expect((await dci.form('/delete-queue-json', { id })).body).toMatchObject([1, { success: 1 }]);
  expect(await dci.form('/delete-queue-json', { id })).toMatchObject({ status: 400, body: [0, { success: 0 }] });
  expect(await dci.form('/delete-queue-json', {})).toMatchObject({ status: 400, body: [0, 'id required'] });
});

test('tasks are added, also as the text of a list', async () => {
  const queueid = await queue();
  const made = await dci.form('/queue-create-tasks-json', { queueid, object: '[{"commands":"a"},{"commands":"b"}]' });
  expect(made.body.slice(0, 3)).toEqual([1, 2, { index: 0, _id: { $oid: expect.any(String) } }]);
  expect(await dci.post('/queue-create-tasks-json', { queueid: 'nowhere', object: [{ a: 1 }] })).toMatchObject({
    status: 200,
    body: [0, 'Queue not found'],
  });
  expect((await dci.post('/queue-create-tasks-json', { queueid, object: {} })).body).toEqual([
    0,
    'object param must be a JSON array',
  ]);
  expect(await dci.form('/queue-create-tasks-json', { queueid })).toMatchObject({
    status: 400,
    body: [0, 'queueid and object required'],
  });
});

test('tasks are made of a collection', async () => {
  const queueid = await queue();
  const row = { org_id: dci.organization.id, collection: 'users', position: 1, document: '{"name":"foo"}' };
  await dci.test.store.commit([addDocument(row)]);
  const values = { queueid, collection: 'users', jsonfilter: '{}', params: '{"user":"document.name"}' };
  expect((await dci.form('/queue-create-tasks-from-query-json', values)).body).toEqual([1, 1]);
  expect(await dci.form('/queue-create-tasks-from-query-json', { queueid })).toMatchObject({ status: 400 });
});

test('tasks are found, with whole seconds and the time as text', async () => {
  const queueid = await queue();
  await dci.post('/queue-create-tasks-json', { queueid, object: [{ n: 1 }, { n: 2 }] });
  const found = await dci.form('/search-tasks-json', { queue: queueid, filter: '{"params.n":2,"status":"-2"}' });
  expect(found.body).toMatchObject([
    { params: { n: 2 }, ctime: 1_700_000_000, ctime_str: '2023-11-14T22:13:20', mtime: 1_700_000_000 },
  ]);
  expect((await dci.form('/search-tasks-json', { queue: queueid, count: '1' })).body).toEqual([1, 2]);
  expect((await dci.form('/search-tasks-json', { queue: 'x' })).body[0]).toBe(0);
  expect((await dci.form('/search-tasks-json', { limit: '1', skip: '1' })).body).toHaveLength(1);
});
