import { gunzipSync } from 'node:zlib';
import { fastify, type InjectOptions } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compressAnswers } from '../src/http/compressed.js';
import { HTTP_LIMITS } from '../src/http/limits.js';
import { passageOf } from '../src/http/passage.js';
import type { App } from '../src/http/route.js';

/** Long answers for those who are elsewhere. */

const LONG = { text: 'x'.repeat(HTTP_LIMITS.compressedBytes) };
let app: App;

beforeAll(async () => {
  app = fastify();
  compressAnswers(app);
  app.addHook('onRequest', async (request) => {
    const identity = { principalId: 'p', type: 'user', name: 'alice', serverAdmin: false, publicKey: null } as const;
    if (request.headers['x-stranger'] === undefined) passageOf(request).caller = identity;
  });
  app.get('/long', async () => LONG);
  app.get('/short', async () => ({ text: 'x' }));
  app.get('/bytes', async (_request, reply) => reply.type('application/octet-stream').send(LONG.text));
  await app.ready();
});
afterAll(() => app.close());

const ask = (url: string, encodings: string | null, more: InjectOptions = {}) =>
  app.inject({
    url,
    remoteAddress: '192.0.2.7',
    headers: encodings === null ? {} : { 'accept-encoding': encodings },
    ...more,
  });

it.each(['gzip', 'br, gzip;q=0.5', '*', 'GZIP'])('a long answer is compressed for who takes %s', async (encodings) => {
  const answer = await ask('/long', encodings);
  expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
  expect(Number(answer.headers['content-length'])).toBe(answer.rawPayload.length);
  expect(answer.rawPayload.length).toBeLessThan(1000);
  expect(JSON.parse(gunzipSync(answer.rawPayload).toString())).toEqual(LONG);
});

it.each([null, 'br', 'gzip;q=0', 'identity', '*;q=0'])('and not for who takes %s', async (encodings) => {
  const answer = await ask('/long', encodings);
  expect(answer.headers['content-encoding']).toBeUndefined();
  expect(answer.headers.vary).toBe('Accept-Encoding');
  expect(answer.json()).toEqual(LONG);
});

it.each([
  ['a short one', '/short', {}],
  ['what is no JSON', '/bytes', {}],
  ['what a stranger asks for', '/long', { headers: { 'x-stranger': 'yes', 'accept-encoding': 'gzip' } }],
  ['what is asked for on the same host', '/long', { remoteAddress: '127.0.0.1' }],
])('nor is %s', async (_what, url, more) => {
  expect((await ask(url, 'gzip', more)).headers['content-encoding']).toBeUndefined();
});

it('has no body for who asks for its head alone', async () => {
  const answer = await ask('/long', 'gzip', { method: 'HEAD' });
  expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 0]);
});
