import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Personas, sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const { publicKey: public_key, privateKey } = sharedKey();
const SENT = '/organizations/acme/association_requests';
const RECEIVED = '/users/outside-user/association_requests';

let server: TestServer;
let personas: Personas;
let api: Client;
/** An admin of the organization, and not of the server. */
let boss: Client;
let outside: Client;

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
  api = server.api;
  await api.post('/organizations', { name: 'acme' });
  await api.post('/users', { name: 'boss', public_key, organization: 'acme', groups: ['admins'] });
  boss = api.as({ name: 'boss', privateKey });
  outside = api.as(personas.outside);
});
afterAll(() => server.stop());

interface Sent {
  readonly id: string;
}

async function invited(): Promise<string> {
  const made = await boss.post(SENT, { user: 'outside-user' });
  expect(made.status, made.text).toBe(201);
  return (made.body as Sent).id;
}

describe('nobody becomes a member without having agreed', () => {
  it('an admin of an organization cannot add an existing user; a server administrator can', async () => {
    const path = '/organizations/acme/users/outside-user';
    const refused = await boss.post(path);
    expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([403, 'forbidden']);
    expect((await outside.get('/organizations/acme/groups')).status).toBe(403);
    expect((await api.post(path)).status).toBe(204);
    expect((await outside.get('/organizations/acme/groups')).status).toBe(200);
    expect((await boss.delete(path)).status).toBe(204);
  });

  it('an admin invites, and the user accepts', async () => {
    const id = await invited();
    expect((await outside.get('/organizations/acme/groups')).status).toBe(403);
    const shown = { id, orgname: 'acme', username: 'outside-user', invited_by: 'boss' };
    for (const { body } of [await boss.get(SENT), await outside.get(RECEIVED)]) expect(body).toMatchObject([shown]);
    const accepted = await outside.put(`${RECEIVED}/${id}`, { response: 'accept' });
    expect([accepted.status, accepted.body]).toEqual([200, { organization: { name: 'acme' } }]);
    expect((await outside.get('/organizations/acme/groups')).status).toBe(200);
    expect([(await boss.get(SENT)).body, (await outside.get(RECEIVED)).body]).toEqual([[], []]);
    expect((await boss.post(SENT, { user: 'outside-user' })).body).toEqual({
      error: "'outside-user' already belongs to the organization",
    });
    expect((await boss.delete('/organizations/acme/users/outside-user')).status).toBe(204);
  });

  it('the user rejects', async () => {
    const id = await invited();
    expect((await outside.put(`${RECEIVED}/${id}`, { response: 'reject' })).status).toBe(200);
    expect((await outside.get('/organizations/acme/groups')).status).toBe(403);
    expect((await boss.get(SENT)).body).toEqual([]);
  });

  it('an admin withdraws', async () => {
    const id = await invited();
    expect((await boss.delete(`${SENT}/${id}`)).status).toBe(204);
    expect((await boss.delete(`${SENT}/${id}`)).status).toBe(404);
    expect((await outside.put(`${RECEIVED}/${id}`, { response: 'accept' })).status).toBe(404);
  });

  it('nobody answers for the user: no server administrator, no other user, and no access token', async () => {
    const id = await invited();
    const answer = { response: 'accept' };
    expect((await boss.put(`${RECEIVED}/${id}`, answer)).status).toBe(403);
    const admin = await api.put(`${RECEIVED}/${id}`, answer);
    expect([admin.status, admin.headers.get('x-muster-error')]).toEqual([403, 'forbidden']);
    expect((await boss.put(`/users/boss/association_requests/${id}`, answer)).status).toBe(404);
    const { token } = (await outside.post('/access_tokens', {})).body as { token: string };
    const thief = await api.as({ token }).put(`${RECEIVED}/${id}`, answer);
    expect([thief.status, thief.headers.get('x-muster-error')]).toEqual([403, 'signature_required']);
    expect((await outside.get('/organizations/acme/groups')).status).toBe(403);
    expect((await boss.delete(`${SENT}/${id}`)).status).toBe(204);
  });

  it('only admins of the organization invite, and see or withdraw what was sent', async () => {
    const id = await invited();
    const other = api.as(personas.normal);
    expect((await other.post(SENT, { user: 'normal-user' })).status).toBe(403);
    expect((await other.get(SENT)).status).toBe(403);
    expect((await other.delete(`${SENT}/${id}`)).status).toBe(403);
    expect((await other.get(RECEIVED)).status).toBe(403);
    expect((await boss.delete(`${SENT}/${id}`)).status).toBe(204);
  });

  it.each([
    ['nothing', {}, 400],
    ['nobody', { user: 'nobody-at-all' }, 404],
    ['more', { user: 'outside-user', groups: ['admins'] }, 400],
  ])('an invitation of %s is refused', async (_what, body, status) => {
    expect((await boss.post(SENT, body)).status).toBe(status);
  });

  it('an answer is accept or reject', async () => {
    expect((await outside.put(`${RECEIVED}/x`, { response: 'maybe' })).status).toBe(400);
  });
});
