import { createHash, randomBytes } from 'node:crypto';
import { signRequest } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RunningHashes } from '../src/files/running-hashes.js';
import { keys, type PushServer, startPushServer } from './support/push-server.js';

let server: PushServer;
beforeEach(async () => {
  server = await startPushServer({ http: { body_limit: 2000 }, files: { largest: 5000, total: 6000, keep: 60 } });
});
afterEach(() => server.close());

const content = randomBytes(4500);
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const sha256 = hashOf(content);
const kept = { sha256, size: content.length };

interface Standing {
  readonly stored: number;
  readonly complete: boolean;
  readonly piece: number;
}

async function begin(sha = sha256, size = content.length, as: 'admin user' | 'normal user' = 'admin user') {
  const response = await server.send({ method: 'PUT', path: `files/${sha}`, body: { size }, as });
  return { status: response.status, body: (await response.json()) as Standing & { error?: unknown } };
}

/** Signed as whoever, with bytes for a body. */
async function raw(
  method: string,
  path: string,
  { body = Buffer.alloc(0) as Uint8Array, user = 'admin', headers = {} } = {},
) {
  const whole = `/organizations/default/pushy/${path}`;
  const signed = signRequest({
    method,
    path: whole,
    body,
    userId: user,
    timestamp: server.clock.now(),
    privateKey: keys.privateKey,
    version: '1.3',
    signQuery: true,
  });
  const type = body.length === 0 ? {} : { 'content-type': 'application/octet-stream' };
  return fetch(server.url + whole, {
    method,
    headers: { ...signed, ...type, ...headers },
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  });
}

async function append(offset: number, body: Buffer, sha = sha256) {
  const response = await raw('PATCH', `files/${sha}?offset=${offset}`, { body });
  return { status: response.status, body: (await response.json()) as Standing };
}

async function bring(bytes = content): Promise<void> {
  const sha = hashOf(bytes);
  let { body } = await begin(sha, bytes.length);
  while (!body.complete)
    body = (await append(body.stored, bytes.subarray(body.stored, body.stored + body.piece), sha)).body;
}

async function node(name: string, part: 'silent' | 'down' = 'silent'): Promise<void> {
  await server.auth.principals.createClient(
    server.org,
    { type: 'node', name, publicKey: keys.publicKey },
    { name: 'x', kind: 'server' },
  );
  server.nodes.enter(server.org.id, name, part);
}

test('hashes are counted while pieces come in order, of so many files', () => {
  const hashes = new RunningHashes(1);
  hashes.add('a', 0, content.subarray(0, 2000));
  hashes.add('a', 2000, content.subarray(2000));
  expect(hashes.take('a', content.length)).toBe(sha256);
  expect(hashes.take('a', content.length)).toBeNull();
  hashes.add('a', 2000, content.subarray(2000));
  expect(hashes.take('a', content.length)).toBeNull();
  hashes.add('a', 0, content);
  hashes.add('b', 0, content);
  expect(hashes.take('a', content.length)).toBeNull();
  expect(hashes.take('b', content.length)).toBe(sha256);
});

describe('bringing a file', () => {
  test('goes on where it was, whoever repeats what', async () => {
    expect((await begin()).body).toMatchObject({ stored: 0, complete: false, piece: 2000 });
    expect((await append(0, content.subarray(0, 2000))).body.stored).toBe(2000);
    expect((await append(0, content.subarray(0, 2000))).body.stored).toBe(2000);
    expect((await append(3000, content.subarray(3000, 4000))).body.stored).toBe(2000);
    expect((await begin()).body.stored).toBe(2000);
    await append(2000, content.subarray(2000, 4000));
    expect((await append(4000, content.subarray(4000))).body).toMatchObject({ stored: 4500, complete: true });
    expect((await begin()).body.complete).toBe(true);
  });

  test('bytes with another hash are deleted', async () => {
    const wrong = 'b'.repeat(64);
    await begin(wrong, 3);
    const answer = await append(0, Buffer.from('abc'), wrong);
    expect(answer.status).toBe(400);
    expect((await begin(wrong, 3)).body.stored).toBe(0);
  });

  test('a file without bytes is there at once', async () => {
    expect((await begin(hashOf(Buffer.alloc(0)), 0)).body.complete).toBe(true);
  });

  test.each([
    ['a file beyond files.largest', () => begin(sha256, 5001), 400],
    ['what is no hash', () => begin('x'), 400],
    ['who may run nothing', () => begin(sha256, 1, 'normal user'), 403],
    ['another size of the same content', () => begin().then(() => begin(sha256, 4)), 400],
    ['more than files.total', () => begin().then(() => begin('c'.repeat(64), 2000)), 409],
    ['more bytes than announced', () => begin(sha256, 3).then(() => append(0, Buffer.from('abcd'))), 400],
    ['a piece of what was not begun', () => append(0, Buffer.from('abc')), 404],
  ])('%s is refused', async (_what, ask, status) => {
    expect((await ask()).status).toBe(status);
  });

  test('files that no job names for files.keep go, with their pieces', async () => {
    await bring();
    server.clock.set(1000);
    server.clock.advance(60_000);
    const { store } = server.test;
    await expect
      .poll(async () => (await store.read.selectFrom('push_file_pieces').selectAll().execute()).length, {
        interval: 10,
      })
      .toBe(0);
    expect((await begin()).body.stored).toBe(0);
  });
});

describe('a job with files', () => {
  const job = { nodes: ['web1'], uploads: [{ ...kept, dest: '/srv/x' }] };
  const start = (body: object) => server.send({ method: 'POST', path: 'jobs', body });

  test('names only files that are there whole', async () => {
    await node('web1');
    expect((await start(job)).status).toBe(400);
    await begin();
    expect((await start(job)).headers.get('x-muster-error')).toBe('push_file_missing');
    await bring();
    expect((await start(job)).status).toBe(201);
    const shown = (await (await server.send({ path: 'jobs' })).json()) as object[];
    expect(shown[0]).toMatchObject({ command: 'upload:/srv/x', uploads: [{ ...kept, dest: '/srv/x', mode: 0o644 }] });
  });

  test('gives them to the nodes that it asks, and to nobody else', async () => {
    await node('web1');
    await node('web2');
    await bring();
    const id = await server.start(job);
    const path = `jobs/${id}/files/${sha256}`;
    const whole = await raw('GET', path, { user: 'web1' });
    expect(whole.status).toBe(200);
    // Pieces come at a pace.
    const bytes = whole.arrayBuffer();
    const moving = setInterval(() => server.clock.advance(100), 5);
    expect(Buffer.from(await bytes).equals(content)).toBe(true);
    const part = await raw('GET', path, { user: 'web1', headers: { range: 'bytes=3999-' } });
    expect(part.headers.get('content-range')).toBe('bytes 3999-4499/4500');
    expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(3999))).toBe(true);
    clearInterval(moving);

    expect((await raw('GET', path, { user: 'web2' })).status).toBe(404);
    expect((await raw('GET', `jobs/${id}/files/${'a'.repeat(64)}`, { user: 'web1' })).status).toBe(404);
    expect((await raw('GET', path)).status).toBe(403);
    await server.send({ method: 'PUT', path: `jobs/${id}/abort` });
    await server.finish(id);
    expect((await raw('GET', path, { user: 'web1' })).status).toBe(404);
  });

  test('gives a node no more bytes a second than `files.node_rate` says', async () => {
    await server.close();
    const files = { largest: 5000, total: 6000, keep: 60, node_rate: 1024 };
    server = await startPushServer({ http: { body_limit: 2000 }, files });
    await node('web1');
    await bring();
    const id = await server.start(job);
    const began = server.clock.monotonic();
    const answer = await raw('GET', `jobs/${id}/files/${sha256}`, { user: 'web1' });
    const moving = setInterval(() => server.clock.advance(100), 5);
    expect(Buffer.from(await answer.arrayBuffer()).equals(content)).toBe(true);
    clearInterval(moving);
    // The last piece, of what was brought in pieces of 2000 bytes, waits for those before it.
    expect(server.clock.monotonic() - began).toBeGreaterThanOrEqual((4000 / 1024) * 1000);
  });

  test('asks no node whose protocol would run the command without them', async () => {
    await node('web1');
    server.nodes.speak('web1', 'chef2');
    await bring();
    const id = await server.start({ ...job, command: 'reload' });
    await server.finish(id);
    const [row] = (await (await server.send({ path: `jobs/${id}/nodes` })).json()) as object[];
    expect(row).toMatchObject({ status: 'nacked', reason: 'its protocol (chef2) cannot carry uploads' });
  });

  test.each([
    ['a path that goes up', { uploads: [{ ...kept, dest: '/srv/../etc/x' }] }, 'uploads.0.dest'],
    ['a path that is not absolute', { uploads: [{ ...kept, dest: 'x' }] }, 'uploads.0.dest'],
    ['a directory', { uploads: [{ ...kept, dest: '/srv/' }] }, 'uploads.0.dest'],
    ['bits beyond permissions', { uploads: [{ ...kept, dest: '/x', mode: 0o4755 }] }, 'uploads.0.mode'],
    [
      'one place twice',
      {
        uploads: [
          { ...kept, dest: '/x' },
          { ...kept, dest: '/x' },
        ],
      },
      'uploads',
    ],
    ['a name with a path', { script: { ...kept, name: 'a/b' } }, 'script.name'],
    ['a script and a command', { command: 'x', script: { ...kept, name: 'b' } }, 'command'],
    ['arguments that are no list', { script: { ...kept, name: 'b', args: 'x' } }, 'script.args'],
    ['a script that is too large', { script: { sha256, size: 1_048_577, name: 'b' } }, 'script.size'],
    ['fetching without keeping', { fetch: '/x' }, 'capture_output'],
    ['fetching and a command', { command: 'x', fetch: '/x', capture_output: true }, 'command'],
  ])('%s is refused, naming the field', async (_what, fields, field) => {
    const answer = await start({ nodes: ['web1'], ...fields });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(await answer.json())).toContain(field);
  });
});
