import { generateKeyPairSync } from 'node:crypto';
import { MusterError } from '@muster/base';
import { readSignedHeaders, verifyRequest } from '@muster/signing';
import { afterEach, expect, test } from 'vitest';
import { Client } from '../src/client.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function clientOf(routes: Readonly<Record<string, Answer>>): Promise<Client> {
  server = await apiServer(routes);
  return new Client(
    { url: server.url, org: 'o', credentials: { kind: 'token', token: 'T' } },
    { now: () => Date.now(), pause: async () => {} },
  );
}

function refuse(status: number, headers: Record<string, string>, error: unknown): Answer {
  return (_, response) => response.writeHead(status, headers).end(JSON.stringify({ error }));
}

test('requests are signed with Chef API signing 1.3 over path and body', async () => {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  server = await apiServer({ 'POST /organizations/a%20b/pushy/jobs': json({ id: 'J' }, 201) });
  const client = new Client({
    url: server.url,
    org: 'a b',
    credentials: { kind: 'key', user: 'alice', privateKey: pair.privateKey },
  });
  await client.post(client.inOrg('pushy', 'jobs'), { command: 'x' });
  const [request] = server.received;
  if (request === undefined) throw new Error('nothing arrived');
  const signed = readSignedHeaders(request.headers, Date.now());
  expect(signed.userId).toBe('alice');
  expect(signed.version).toBe('1.3');
  expect(verifyRequest(signed, request, pair.publicKey)).toBe(true);
});

test.each(['', '.', '..'])('%j names nothing: a URL would drop it and mean something else', async (name) => {
  const client = await clientOf({});
  expect(() => client.inOrg('nodes', name)).toThrow(`'${name}' is not a name`);
});

test('with a token nothing is signed', async () => {
  const client = await clientOf({ 'GET /x': json({}) });
  await client.get('/x');
  expect(server?.received[0]?.headers.authorization).toBe('Bearer T');
});

test('a refusal keeps the server’s words, fix and exit code', async () => {
  const headers = { 'x-muster-error': 'forbidden', 'x-muster-fix': 'Ask an admin.' };
  const client = await clientOf({ 'GET /x': refuse(403, headers, ["User or client 'bob' does not …"]) });
  const error = await client.get('/x').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MusterError);
  expect(error).toMatchObject({
    code: 'forbidden',
    exit: 3,
    message: "User or client 'bob' does not …",
    fix: 'Ask an admin.',
  });
});

test.each([
  [404, 4],
  [401, 3],
  [500, 1],
  [400, 2],
])('a proxy’s %d has exit code %d', async (status, exit) => {
  const client = await clientOf({ 'POST /x': (_, response) => response.writeHead(status).end('<html>') });
  await expect(client.post('/x', {})).rejects.toMatchObject({ exit });
});

test('a GET is tried again after 503, at most twice', async () => {
  const client = await clientOf({ 'GET /x': refuse(503, { 'x-muster-error': 'too_busy' }, 'busy') });
  await expect(client.get('/x')).rejects.toMatchObject({ code: 'too_busy', exit: 5 });
  expect(server?.received.length).toBe(3);
});

test('a GET that succeeds the second time has succeeded', async () => {
  let calls = 0;
  const client = await clientOf({
    'GET /x': (request, response) =>
      ++calls === 1 ? request.headers && response.destroy() : json({ ok: true })(request, response),
  });
  expect(await client.get('/x')).toEqual({ ok: true });
});

test('a POST is never repeated', async () => {
  const client = await clientOf({ 'POST /x': (_, response) => response.destroy() });
  await expect(client.post('/x', {})).rejects.toMatchObject({ code: 'server_unreachable', exit: 5 });
  expect(server?.received.length).toBe(1);
});

test('a redirect is not followed: the signature is for one server and path', async () => {
  const client = await clientOf({
    'POST /x': (_, response) => response.writeHead(302, { location: '/y' }).end(),
    'POST /y': json({}),
    'GET /y': json({}),
  });
  await expect(client.post('/x', {})).rejects.toMatchObject({ code: 'server_unreachable' });
  expect(server?.received.map(({ path }) => path)).toEqual(['/x']);
});

test('what the server does not take now is sent again once, after the time that it says', async () => {
  const limited = { 'x-muster-error': 'rate_limited', 'retry-after': '3' };
  let asked = 0;
  const once: Answer = (request, response) =>
    (asked++ === 0 ? refuse(429, limited, 'too many') : json({ id: 'J' }, 201))(request, response);
  server = await apiServer({ 'POST /once': once, 'GET /always': refuse(429, limited, 'too many') });
  const waits: number[] = [];
  const told: number[] = [];
  const client = new Client(
    { url: server.url, org: 'o', credentials: { kind: 'token', token: 'T' } },
    { pause: async (ms) => void waits.push(ms), waiting: (ms) => void told.push(ms) },
  );
  expect(await client.post('/once', { command: 'x' })).toEqual({ id: 'J' });
  expect(server.received.map(({ body }) => body)).toEqual(['{"command":"x"}', '{"command":"x"}']);
  await expect(client.get('/always')).rejects.toMatchObject({ message: 'too many', exit: 5 });
  expect([waits, told, server.received.length]).toEqual([[3000, 3000], [3000, 3000], 4]);
});

test.each([{ 'retry-after': '60' }, {}, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }])(
  'nobody waits long, or for what is not said: %j',
  async (headers) => {
    const client = await clientOf({ 'GET /x': refuse(429, headers, 'too many') });
    await expect(client.get('/x')).rejects.toThrow('too many');
    expect(server?.received).toHaveLength(1);
  },
);
