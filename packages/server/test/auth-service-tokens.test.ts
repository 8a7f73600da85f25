import { ManualClock } from '@muster/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const ORG = '/organizations/default';
const RELAY = `${ORG}/services/relay/access_tokens`;
const { publicKey: public_key, privateKey } = sharedKey();
const clock = new ManualClock();
let server: TestServer;
let api: Client;

interface Issued {
  readonly id: string;
  readonly token: string;
  readonly service: string;
}

beforeAll(async () => {
  server = await startTestServer({ clock });
  api = server.api;
  await api.post(`${ORG}/services`, { name: 'relay', public_key });
});
afterAll(() => server.stop());

const issue = async (body: object = {}): Promise<Issued> => {
  const answer = await api.post(RELAY, body);
  expect(answer.status, answer.text).toBe(201);
  return answer.body as Issued;
};
const status = async (token: string, path = `${ORG}/groups`) => (await api.as({ token }).get(path)).status;

describe('an access token of a service', () => {
  it('stands in for its signature, in its organization', async () => {
    const { token, service } = await issue();
    expect(service).toBe('relay');
    expect(await status(token)).toBe(200);
  });

  it('opens neither another organization nor what is outside of all', async () => {
    await api.post('/organizations', { name: 'elsewhere' });
    const { token } = await issue();
    expect(await status(token, '/organizations/elsewhere/groups')).toBe(403);
    expect(await status(token, '/users')).toBe(403);
  });

  it('is not the token of a user of the same name', async () => {
    await api.post('/users', { name: 'relay', public_key, organization: 'default' });
    const { id } = await issue();
    expect((await api.delete(`/access_tokens/${id}`)).status).toBe(404);
    const listed = (await api.get('/access_tokens')).body as { id: string }[];
    expect(listed.map((one) => one.id)).not.toContain(id);
  });

  it('is listed without the token itself, and is useless once deleted', async () => {
    const { id, token } = await issue();
    const listed = (await api.get(RELAY)).body as object[];
    expect(listed).toContainEqual(expect.objectContaining({ id, service: 'relay', created_by: 'admin' }));
    expect(JSON.stringify(listed)).not.toContain(token);
    expect((await api.delete(`${RELAY}/${id}`)).status).toBe(204);
    expect(await status(token)).toBe(401);
    expect((await api.delete(`${RELAY}/${id}`)).status).toBe(404);
  });

  it('expires', async () => {
    const { token } = await issue({ ttl: 60 });
    clock.advance(60_000);
    expect(await status(token)).toBe(401);
  });

  it('goes with its service', async () => {
    await api.post(`${ORG}/services`, { name: 'passing', public_key });
    const { token } = (await api.post(`${ORG}/services/passing/access_tokens`, {})).body as Issued;
    expect(await status(token)).toBe(200);
    await api.delete(`${ORG}/services/passing`);
    expect(await status(token)).toBe(401);
  });

  it('is made by admins of the organization alone, with a signature', async () => {
    const itself = api.as({ name: 'relay', privateKey });
    expect((await itself.post(RELAY, {})).status).toBe(403);
    const { token } = (await api.post('/access_tokens', {})).body as Issued;
    expect((await api.as({ token }).post(RELAY, {})).status).toBe(403);
  });

  it('is not made for a service that does not exist', async () => {
    expect((await api.post(`${ORG}/services/nobody/access_tokens`, {})).status).toBe(404);
    expect((await api.get(`${ORG}/services/nobody/access_tokens`)).status).toBe(404);
  });

  it('is audited in the organization when it is made and when it is deleted', async () => {
    const { id } = await issue();
    await api.delete(`${RELAY}/${id}`);
    const entries = (await api.get(`${ORG}/audit?limit=2`)).body;
    expect(entries).toMatchObject([
      { action: 'access_token.delete', target: id },
      { action: 'access_token.create', target: 'relay', detail: { id } },
    ]);
  });
});
