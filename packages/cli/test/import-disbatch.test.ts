import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../server/test/support/test-server.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** `muster import disbatch`, `muster collection` and `muster queue balance` against a whole server. */

const QUEUE = '571f8951b75bf335634ec271';
const OLD_QUEUE = '54a700074b485f0b00000000';
const taskId = (n: number): string => `571fac85ee634132330${n.toString(16).padStart(5, '0')}`;
const fileId = (n: number): string => `571fbac9d8590b78fe4${n.toString(16).padStart(5, '0')}`;
const oid = ($oid: string) => ({ $oid });

/** Of more than one chunk, and of characters of several bytes. */
const LONG = 'zeile größer '.repeat(40_000);
const CHUNK = 261_120;

let server: TestServer;
let cwd: string;

beforeAll(async () => {
  server = await startTestServer({ flags: { disbatch: '127.0.0.1:0', 'tasks-plugins': 'demo' } });
  cwd = mkdtempSync(join(tmpdir(), 'muster-import-'));
});
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await server.stop();
});

async function muster(...words: string[]): Promise<{ exit: number; out: string; err: string }> {
  const env = { MUSTER_CONFIG: server.running.cliConfigPath, NO_COLOR: '1' };
  const world = testWorld({ env, cwd, terminal: false, now: () => Date.now() });
  const exit = await run(words, world);
  return { exit, out: world.out(), err: world.err() };
}

// biome-ignore lint/suspicious/noExplicitAny: documents of another system
async function shown(path: string, body?: object): Promise<any> {
  const init = body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  return (await fetch(`${server.running.disbatchUrl}${path}`, init)).json();
}

function dump(name: string, files: Readonly<Record<string, readonly unknown[]>>): string {
  const directory = join(cwd, name);
  mkdirSync(directory);
  for (const [collection, documents] of Object.entries(files)) {
    const lines = documents.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    writeFileSync(join(directory, `${collection}.json`), `${lines.join('\n')}\n`);
  }
  return name;
}

/** A task in the relaxed form of the second version of Extended JSON. */
function task(n: number, given: object): object {
  return {
    _id: oid(taskId(n)),
    queue: oid(QUEUE),
    params: { user1: 'a@example.com', n },
    status: 1,
    node: 'mig01.example.com',
    ctime: { $date: '2016-04-26T17:59:33Z' },
    mtime: { $date: '2016-04-26T18:37:40.250Z' },
    stdout: null,
    stderr: null,
    complete: true,
    ...given,
  };
}

const WHOLE: Readonly<Record<string, readonly object[]>> = {
  queues: [
    { _id: oid(QUEUE), name: 'demo', plugin: 'demo', threads: '3', sort: 'fifo' },
    { _id: oid(OLD_QUEUE), name: 'old', constructor: 'demo' },
  ],
  nodes: [{ _id: oid('56fc05087aa3a33942e42a6a'), node: 'mig01.example.com', timestamp: { $date: 1 } }],
  balance: [
    { _id: oid('56fc05087aa3a33942e42a6b'), max_tasks: { '* 07:00': { $numberInt: '5' } }, queues: [['demo']] },
  ],
  tasks: [
    task(1, { stdout: 'short', stderr: '' }),
    task(2, { stdout: LONG, status: { $numberInt: '2' }, cmdExit: 3 }),
    task(3, { stdout: oid(fileId(1)), stderr: oid(fileId(2)), status: 44 }),
    task(4, { status: 0, complete: undefined }),
    // As the first version writes it, and as version 3 stored it.
    {
      _id: oid(taskId(5)),
      queue: oid(OLD_QUEUE),
      parameters: { n: { $numberLong: '5' }, owner: oid(QUEUE) },
      status: { $numberLong: '-2' },
      node: -1,
      ctime: { $date: { $numberLong: '1461693573000' } },
      mtime: 1461693573,
      stdout: null,
      stderr: null,
    },
    task(6, { status: -9, node: null, complete: undefined }),
  ],
  'tasks.files': [
    { _id: oid(fileId(1)), filename: 'stdout', chunkSize: CHUNK, length: 1, metadata: { task_id: oid(taskId(3)) } },
    { _id: oid(fileId(2)), filename: 'stderr', chunkSize: CHUNK, length: 1, metadata: { task_id: oid(taskId(3)) } },
  ],
  'tasks.chunks': [
    { _id: oid(fileId(9)), files_id: oid(fileId(1)), n: 0, data: LONG.slice(0, CHUNK) },
    {
      files_id: oid(fileId(2)),
      n: { $numberInt: '0' },
      data: { $binary: { base64: Buffer.from('binary ').toString('base64'), subType: '00' } },
    },
    { files_id: oid(fileId(1)), n: 1, data: LONG.slice(CHUNK) },
    { files_id: oid(fileId(2)), n: 1, data: { $binary: Buffer.from('output').toString('base64'), $type: '00' } },
  ],
};

describe('muster import disbatch', () => {
  test('keeps ids, status, nodes, times, parameters and output', async () => {
    const { exit, err } = await muster('import', 'disbatch', dump('whole', WHOLE));
    expect(err).toContain('queues: 2 imported');
    // Its node is not here.
    expect(err).toContain("nodes, line 1: there is no node 'mig01.example.com' here");
    expect(exit).toBe(1);
    expect(await shown('/queues')).toMatchObject([
      { id: OLD_QUEUE, name: 'old', plugin: 'demo', threads: null, queued: 1 },
      { id: QUEUE, name: 'demo', threads: 3, queued: 0, completed: 3 },
    ]);
    const found = await shown('/tasks/search', { filter: {}, terse: false });
    expect(found).toMatchObject([
      { _id: oid(taskId(1)), status: 1, stdout: 'short', stderr: '', node: 'mig01.example.com', complete: true },
      { _id: oid(taskId(2)), status: 2, stdout: LONG, mtime: 1461695860.25 },
      { _id: oid(taskId(3)), status: 44, stdout: LONG, stderr: 'binary output' },
      { _id: oid(taskId(4)), status: -6 },
      { _id: oid(taskId(5)), status: -2, node: null, params: { n: 5, owner: QUEUE }, mtime: 1461693573 },
      { _id: oid(taskId(6)), status: -9 },
    ]);
    // What was in a file stays in it, by the id that clients may have kept.
    const files = { stdout: oid(fileId(1)), stderr: oid(fileId(2)) };
    expect(await shown('/tasks/search', { filter: { status: 44 } })).toMatchObject([files]);
    expect(await shown(`/tasks/${taskId(3)}`)).toMatchObject(files);
    expect(await shown('/balance')).toMatchObject({ max_tasks: { '* 07:00': 5 }, queues: [['demo']] });
  });

  test('a second time changes nothing', async () => {
    const { out } = await muster('import', 'disbatch', 'whole', '--json');
    const { collections } = JSON.parse(out);
    expect(collections).toMatchObject({
      queues: { imported: 0, present: 2 },
      tasks: { imported: 0, present: 6 },
      'tasks.files': { imported: 0 },
      'tasks.chunks': { imported: 0 },
    });
    expect((await shown('/tasks/search', { filter: {}, count: 1 })).count).toBe(6);
  });

  test('tells which lines it does not take, and takes the others', async () => {
    const name = dump('bad', {
      tasks: [
        'not json',
        task(0x20, { queue: 'demo' }),
        task(0x21, { status: 1.5 }),
        task(0x22, { params: [] }),
        task(0x23, {}),
      ],
      'tasks.chunks': [{ files_id: oid(fileId(0x30)), n: 0, data: 'x' }],
      queues: [{ _id: oid(taskId(0x40)), name: 'demo', plugin: 'demo' }],
    });
    const { exit, err } = await muster('import', 'disbatch', name);
    expect(exit).toBe(1);
    expect(err).toMatch(/tasks, line 1: /);
    expect(err).toContain('tasks, line 2: queue must be an ObjectId');
    expect(err).toContain('tasks, line 3: status must be a whole number');
    expect(err).toContain('tasks, line 4: params must be an object');
    expect(err).toContain('tasks.chunks, line 1: there is no file');
    expect(err).toContain("queues, line 1: there is another queue 'demo'");
    expect(err).toContain('tasks: 1 imported');
  });

  test('chunks that come out of their order are refused with what to do', async () => {
    const name = dump('unordered', {
      tasks: [task(0x50, { stdout: oid(fileId(0x50)) })],
      'tasks.files': [{ _id: oid(fileId(0x50)), filename: 'stdout', metadata: { task_id: oid(taskId(0x50)) } }],
      'tasks.chunks': [{ files_id: oid(fileId(0x50)), n: 1, data: 'b' }],
    });
    expect((await muster('import', 'disbatch', name)).err).toContain('export with --sort');
  });

  test('a directory without a dump, and one list, are refused', async () => {
    mkdirSync(join(cwd, 'empty'));
    expect(await muster('import', 'disbatch', 'empty')).toMatchObject({ exit: 2 });
    expect((await muster('import', 'disbatch', dump('list', { tasks: ['[{}]'] }))).err).toContain('--jsonArray');
  });

  test('queues wait to be resumed, and keep their tasks for ever', async () => {
    const { out } = await muster('queue', 'show', 'old', '--json');
    expect(JSON.parse(out)).toMatchObject({ state: 'paused', keep: 0 });
  });
});

describe('muster collection', () => {
  test('keeps documents that tasks are made of', async () => {
    const users = Array.from({ length: 2500 }, (_, n) => JSON.stringify({ name: `user${n}`, even: n % 2 === 0 }));
    writeFileSync(join(cwd, 'users.jsonl'), users.join('\n'));
    const added = await muster('collection', 'import', 'users', 'users.jsonl');
    expect(added).toMatchObject({ exit: 0, out: 'added 2500 documents to users, which has 2500\n' });
    expect((await muster('collection', 'list')).out).toMatch(/users +2500/);
    const body = { filter: { even: true }, params: { user: 'document.name' } };
    const made = await shown('/tasks/old/users', body);
    expect(made['MongoDB::InsertManyResult'].inserted).toHaveLength(1250);
    await muster('collection', 'import', 'users', 'users.jsonl');
    expect((await muster('collection', 'list', '--json')).out).toContain('5000');
    await muster('collection', 'import', 'users', 'users.jsonl', '--replace');
    expect(JSON.parse((await muster('collection', 'list', '--json')).out)).toEqual([
      { name: 'users', documents: 2500 },
    ]);
    expect((await muster('collection', 'rm', 'users', '--yes')).exit).toBe(0);
    expect((await muster('collection', 'rm', 'users', '--yes')).exit).toBe(4);
  });

  test('says which line is no document', async () => {
    writeFileSync(join(cwd, 'bad.jsonl'), '{"a":1}\n[]\n');
    const refused = await muster('collection', 'import', 'bad', 'bad.jsonl');
    expect(refused.exit).toBe(2);
    expect(refused.err).toContain('line 2 is no JSON object');
  });
});

test('muster import disbatch says that there is no such directory', async () => {
  const { exit, err } = await muster('import', 'disbatch', './nowhere');
  expect(exit).toBe(2);
  expect(err).toMatch(/there is no directory .*nowhere/);
});

describe('muster queue balance', () => {
  test('shows and sets how threads are shared out', async () => {
    const plan = { max_tasks: { '* 07:00': 5, '0 19:00': 15 }, queues: [['demo'], ['old']] };
    writeFileSync(join(cwd, 'plan.json'), JSON.stringify(plan));
    const { exit, out, err } = await muster('queue', 'balance', '--set', 'plan.json');
    expect(exit).toBe(0);
    expect(out).toMatch(/Sunday +19:00 +15/);
    expect(out).toMatch(/default +demo/);
    expect(err).toContain('--disbatch-balance');
  });

  test.each([
    ['a queue that there is not', { max_tasks: { '* 07:00': 5 }, queues: [['nowhere']] }, 'unknown queue nowhere'],
    ['a time that is none', { max_tasks: { '* 7:00': 5 }, queues: [['demo']] }, 'time * 7:00 must be as "* 07:00"'],
    ['no times', { queues: [['demo']] }, 'max_tasks must be an object of times, such as {"* 07:00": 5}'],
  ])('names the file and what is wrong in it: %s', async (_, plan, reason) => {
    writeFileSync(join(cwd, 'wrong.json'), JSON.stringify(plan));
    const { exit, err } = await muster('queue', 'balance', '--set', 'wrong.json');
    expect(exit).toBe(2);
    expect(err).toContain(`wrong.json: ${reason}`);
    expect(err).not.toContain('MUSTER_URL');
  });
});
