import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HTTP_LIMITS } from '../../platform/src/http/limits.js';
import { newKey, type Personas, sharedKey } from '../../platform/test/support/personas.js';
import type { Client, Reply } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Who proves nothing learns nothing: not which organizations, users, nodes and services there are. */

let server: TestServer;
let personas: Personas;
const { privateKey: wrongKey } = newKey();

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
});
afterAll(() => server.stop());

/** All that can be told from an answer, but for what the request itself said. */
function told({ status, headers, text }: Reply, name: string) {
  const own = ['date', 'x-request-id', 'content-length'];
  return {
    status,
    headers: [...headers].filter(([header]) => !own.includes(header)),
    text: text.replace(name, 'NAME'),
  };
}

async function same(ask: (which: string) => Promise<Reply>, among: readonly string[]): Promise<void> {
  const [first = '', ...others] = among;
  const expected = told(await ask(first), first);
  expect(expected.status).toBe(401);
  for (const other of others) expect(told(await ask(other), other), other).toEqual(expected);
}

const forging = (name: string): Client => server.api.as({ name, privateKey: wrongKey });

describe('a stranger hears the same', () => {
  it('of a user, of a node, of a user of another organization, and of nobody', async () => {
    const names = ['nobody', 'admin', 'member-client', personas.outside.name];
    await same((name) => forging(name).get('/organizations/default/groups'), names);
  });

  it('of users outside organizations', async () => {
    await same((name) => forging(name).get('/users'), ['nobody', 'admin']);
  });

  it('of an organization, and of none', async () => {
    const organizations = ['nowhere', 'default', 'A%00B'];
    await same((name) => forging('admin').get(`/organizations/${name}/groups`), organizations);
    const bearer = server.api.as({ token: 'access_made-up' });
    await same((name) => bearer.get(`/organizations/${name}/groups`), organizations);
    const body = { token: 'enrol_made-up', name: 'n', public_key: sharedKey().publicKey };
    await same((name) => server.api.as(null).post(`/organizations/${name}/enroll`, body), organizations);
  });

  it('no sooner for the one than for the other', async () => {
    for (const name of ['nobody', 'admin']) {
      const began = performance.now();
      await forging(name).get('/organizations/default/groups');
      expect(performance.now() - began).toBeGreaterThanOrEqual(HTTP_LIMITS.refusalMs - 1);
    }
  });
});

it('who has signed for a name is told where it does not belong', async () => {
  const outside = server.api.as(personas.outside);
  expect((await outside.get('/organizations/default/groups')).status).toBe(403);
  expect((await outside.get('/organizations/nowhere/groups')).status).toBe(404);
});

it('the audit has why a stranger was refused', async () => {
  await forging('admin').get('/organizations/default/groups');
  await expect
    .poll(async () => (await server.api.get('/organizations/default/audit?action=access.denied&limit=1')).body)
    .toMatchObject([{ actor: 'admin', detail: { code: 'invalid_signature' } }]);
});
