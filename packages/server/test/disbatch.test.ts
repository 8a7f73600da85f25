import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from './support/test-server.js';

/** The command interface of a whole server: at its own listener, and below an organization. */

const PLUGIN = 'Disbatch::Plugin::Demo';
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ flags: { disbatch: '127.0.0.1:0', 'tasks-plugins': PLUGIN } });
});
afterAll(() => server?.stop());

// biome-ignore lint/suspicious/noExplicitAny: what it is depends on the route, which is what is tested
async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
  const init = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${server.running.disbatchUrl}${path}`, { method, ...init });
  return { status: response.status, body: await response.json() };
}

describe('at a listener of its own', () => {
  test('a queue is made, set, filled, shown and deleted', async () => {
    const made = await ask('POST', '/queues', { name: 'demo', plugin: PLUGIN });
    expect(made.status).toBe(200);
    expect((await ask('GET', '/queues')).body).toEqual([
      { id: made.body.id.$oid, plugin: PLUGIN, name: 'demo', threads: null, queued: 0, running: 0, completed: 0 },
    ]);
    const added = await ask('POST', '/tasks/demo', [{ commands: 'a' }, { commands: 'b' }]);
    expect(added.body['MongoDB::InsertManyResult'].inserted).toHaveLength(2);
    expect((await ask('GET', '/queues/demo')).body).toMatchObject({ queued: 2 });
    expect((await ask('POST', '/queues/demo', { threads: 2 })).body['MongoDB::UpdateResult'].modified_count).toBe(1);
    expect((await ask('POST', '/queues/demo', { threads: 2 })).body['MongoDB::UpdateResult'].modified_count).toBe(0);
    const again = await ask('POST', '/queues', { name: 'demo', plugin: PLUGIN });
    expect(again).toMatchObject({ status: 400, body: { id: null } });
    expect((await ask('DELETE', '/queues/demo')).status).toBe(200);
    expect((await ask('POST', '/tasks/search', { filter: { queue: made.body.id }, count: 1 })).body).toEqual({
      count: 2,
    });
  });

  test.each<[string, object]>([
    ['/queues', { name: 'x'.repeat(300), plugin: PLUGIN }],
    ['/queues', { name: 'a\0b', plugin: PLUGIN }],
    ['/queues/limits', { threads: 999_999_999_999_999 }],
    ['/tasks/limits', [{ text: 'x'.repeat(300_000) }]],
    ['/tasks', { queue: 'limits', params: [{ deep: 'a\0b' }, 1] }],
    ['/tasks/limits/no such collection', { filter: {}, params: { a: 1 } }],
    ['/tasks/search', { filter: { status: 1e300, _id: 'a\0b', queue: { $in: ['a\0b', 7] } }, options: { skip: 1e16 } }],
    ['/tasks/search', { filter: { status: { $gt: -1e300, $lt: 1e300 } }, options: { limit: 1e3 } }],
  ])('POST %s with what is beyond a limit is refused, and breaks nothing', async (path, body) => {
    await ask('POST', '/queues', { name: 'limits', plugin: PLUGIN });
    const refused = await ask('POST', path, body);
    expect(refused).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    expect((await ask('GET', '/queues/limits')).status).toBe(200);
  });

  test('odd filters find nothing', async () => {
    for (const filter of [{ status: 1e300 }, { _id: 'a\0b' }, { status: { $gte: 1e300 } }, { _id: { $in: [] } }]) {
      expect(await ask('POST', '/tasks/search', { filter })).toEqual({ status: 200, body: [] });
    }
  });

  test('HEAD is as GET, without a body', async () => {
    const response = await fetch(`${server.running.disbatchUrl}/queues`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  test('what it does is audited', async () => {
    await ask('POST', '/queues', { name: 'audited', plugin: PLUGIN });
    const { body } = await server.api.get('/organizations/default/audit?action=queue.create');
    expect((body as readonly object[])[0]).toMatchObject({ target: 'audited', actor: 'disbatch (local)' });
  });
});

describe('below an organization', () => {
  const path = (rest: string) => `/organizations/default/disbatch${rest}`;

  test('it answers who may read tasks', async () => {
    const { normal, outside } = await server.personas();
    expect((await server.api.get(path('/plugins'))).body).toEqual([PLUGIN]);
    expect((await server.api.as(normal).get(path('/queues'))).status).toBe(200);
    expect((await server.api.as(outside).get(path('/queues'))).status).toBe(403);
  });

  describe('with HTTP basic, which is all that its clients know', () => {
    const basic = (name: string, token: string) => ({ authorization: `Basic ${btoa(`${name}:${token}`)}` });
    const send = (method: string, headers: Readonly<Record<string, string>>, rest = '/queues') =>
      fetch(server.url + path(rest), {
        method,
        headers,
        ...(method === 'POST' && { body: new URLSearchParams({ name: 'basic', plugin: PLUGIN }) }),
      });
    let token: string;

    beforeAll(async () => {
      const { body } = await server.api.post('/access_tokens', { ttl: 3600 });
      token = (body as { token: string }).token;
    });

    test('a login is asked for, in the words for which they wait', async () => {
      const asked = await send('GET', {});
      expect([asked.status, asked.headers.get('www-authenticate')]).toEqual([401, 'Bearer, Basic realm="disbatch"']);
      const wrong = await send('GET', basic('admin', 'nonsense'));
      expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([401, 'Bearer, Basic realm="disbatch"']);
      expect((await send('GET', { authorization: 'Basic' })).status).toBe(401);
    });

    test('a name and an access token of it are taken, and nobody else with that token', async () => {
      expect((await send('GET', basic('admin', token))).status).toBe(200);
      expect((await send('POST', basic('admin', token))).status).toBe(200);
      expect((await send('GET', basic('somebody', token))).status).toBe(401);
    });

    test('a page of another site changes nothing with it', async () => {
      for (const page of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
        expect((await send('POST', { ...basic('admin', token), ...page })).status).toBe(403);
      }
    });

    test('no other route takes it', async () => {
      const other = await fetch(`${server.url}/organizations/default/queues`, { headers: basic('admin', token) });
      expect(other.status).toBeGreaterThanOrEqual(400);
      expect(other.headers.get('www-authenticate') ?? '').not.toContain('Basic');
    });
  });

  test('it takes changes of who may write them', async () => {
    const { normal } = await server.personas();
    const body = { name: 'signed', plugin: PLUGIN };
    expect((await server.api.as(normal).post(path('/queues'), body)).status).toBe(403);
    expect((await server.api.post(path('/queues'), body)).status).toBe(200);
    expect((await server.api.post(path('/queues/signed'), { threads: 'x' })).status).toBe(400);
  });

  test('it takes forms, and JSON of a GET, as clients send them', async () => {
    const form = 'name=form&plugin=Disbatch%3A%3APlugin%3A%3ADemo';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await server.api.call('POST', path('/queues'), { body: form, headers })).status).toBe(200);
    expect((await server.api.call('POST', path('/queues/form'), { body: 'threads=3', headers })).status).toBe(200);
    expect((await server.api.get(path('/queues/form'))).body).toMatchObject({ threads: 3 });
    const body = JSON.stringify({ '.limit': 5, '.count': 1 });
    const text = await new Promise<string>((resolve, reject) => {
      const url = new URL(server.url + path('/tasks'));
      const signed = server.api.headers('GET', path('/tasks'), body);
      const json = { ...signed, 'content-type': 'application/json', 'content-length': String(body.length) };
      const sent = request(url, { method: 'GET', headers: json }, (response) => {
        let got = '';
        response.setEncoding('utf8').on('data', (some: string) => {
          got += some;
        });
        response.on('end', () => resolve(got));
      });
      sent.on('error', reject).end(body);
    });
    expect(JSON.parse(text)).toEqual({ count: expect.any(Number) });
  });
});
