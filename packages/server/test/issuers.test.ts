import { generateKeyPair } from '@muster/signing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Issuers over REST: made, changed in place, removed. */

const ISSUERS = '/organizations/default/issuers';
let server: TestServer;
let pem: string;
let other: string;

beforeAll(async () => {
  server = await startTestServer();
  [pem, other] = (await Promise.all([generateKeyPair(), generateKeyPair()])).map(({ publicKey }) => publicKey) as [
    string,
    string,
  ];
  await server.api.post(ISSUERS, { name: 'gateway', public_key: pem, issuer: 'https://a', audience: 'x', tenant: 't' });
});
afterAll(() => server.stop());

const set = (body: object, name = 'gateway') => server.api.call('PATCH', `${ISSUERS}/${name}`, { body });

test('what is left out stays, what is given changes, null is as it is unless given', async () => {
  const { status, body: json } = await set({ audience: 'y', tenant: null });
  expect([status, json]).toMatchObject([
    200,
    { name: 'gateway', kind: 'public_key', source: pem, issuer: 'https://a', audience: 'y', tenant: null },
  ]);
  expect((await set({ public_key: other, audience: null })).body).toMatchObject({ source: other, audience: null });
  expect((await server.api.get(ISSUERS)).body).toMatchObject([{ source: other, issuer: 'https://a', tenant: null }]);
});

test.each([
  ['two sources', { public_key: 'a', jwks: 'https://b' }, 400, 'public_key'],
  ['no key', { public_key: 'a' }, 400, 'public_key'],
  ['a sign-in without its client', { sign_in: { ttl: 3600 } }, 400, 'sign_in.client_id'],
  ['a sign-in at what is no provider', { sign_in: { client_id: 'c' } }, 400, 'sign_in'],
  ['another name', { name: 'x' }, 400, 'name'],
])('%s is refused, and nothing has changed', async (_, body, status, told) => {
  const before = (await server.api.get(ISSUERS)).body;
  const refused = await set(body);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([status, expect.stringContaining(told)]);
  expect((await server.api.get(ISSUERS)).body).toEqual(before);
});

test('there is nothing to change of one that there is not', async () => {
  expect((await set({ audience: 'y' }, 'nobody')).status).toBe(404);
});

test('who is no admin changes none', async () => {
  const { normal } = await server.personas();
  expect((await server.api.as(normal).call('PATCH', `${ISSUERS}/gateway`, { body: { audience: 'z' } })).status).toBe(
    403,
  );
});
