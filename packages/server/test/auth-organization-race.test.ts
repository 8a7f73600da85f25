import type { Clock } from '@muster/base';
import type { Auth } from '@muster/platform/auth';
import { createApp } from '@muster/platform/http';
import { Metrics } from '@muster/platform/metrics';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Directory, openDirectory } from '../../platform/test/support/directory.js';
import { ME, sharedKey } from '../../platform/test/support/personas.js';
import { Client, type Reply } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const ROUNDS = 12;

/** Deletes an organization while `request` is on its way to it; every round lets a little more of it happen before. */
async function race(request: (org: string) => Promise<Reply>): Promise<readonly [Reply, Reply][]> {
  const pairs: [Reply, Reply][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const name = `race-${crypto.randomUUID()}`;
    await server.api.post('/organizations', { name });
    await server.api.post(`/organizations/${name}/users/admin`);
    await server.api.put(`/organizations/${name}/groups/push_job_writers`, { users: ['admin'] });
    const requested = request(`/organizations/${name}`);
    for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
    pairs.push(await Promise.all([requested, server.api.delete(`/organizations/${name}`)]));
  }
  return pairs;
}

it('a job posted while its organization is deleted is started, or the organization is not found', async () => {
  for (const [posted, deleted] of await race((org) =>
    server.api.post(`${org}/pushy/jobs`, { command: 'x', nodes: ['n1'] }),
  )) {
    expect([201, 404], posted.text).toContain(posted.status);
    expect([204, 409], deleted.text).toContain(deleted.status);
    if (posted.status === 404) expect(posted.text).toMatch(/organization '.+' does not exist/);
  }
});

it('nothing is created in an organization that is gone', async () => {
  const public_key = sharedKey().publicKey;
  for (const [posted, deleted] of await race((org) => server.api.post(`${org}/services`, { name: 's', public_key }))) {
    expect([201, 404], posted.text).toContain(posted.status);
    expect(deleted.status).toBe(204);
  }
});

/** Answers `/organizations/ORG/x`. What is left of organizations stays. */
function appOn(directory: Directory, auth: Auth = directory.auth) {
  return createApp({
    auth,
    clock: directory.clock,
    logger: pino({ level: 'silent' }),
    metrics: new Metrics(),
    status: () => {
      throw new Error('not asked for');
    },
    version: '0',
    bodyLimit: 1000,
    routes: [(app) => void app.get('/organizations/:org/x', { config: { permission: 'push:read' } }, async () => 'x')],
  });
}

const { privateKey } = sharedKey();

function headersOf(credentials: { readonly name: string } | { readonly token: string }, url: string, clock: Clock) {
  const signer = 'name' in credentials ? { ...credentials, privateKey } : credentials;
  return new Client('http://muster.test', signer, clock).headers('GET', url);
}

it('who is denied because the organization goes just then is told that it is gone', async () => {
  const directory = await openDirectory();
  const { auth, clock } = directory;
  await directory.addUser('alice');
  const app = await appOn(directory, {
    ...auth,
    authentication: {
      bySignature: async (signed, content, realm, now) => {
        await auth.organizations.remove(directory.organization, ME);
        return auth.authentication.bySignature(signed, content, realm, now);
      },
    } as typeof auth.authentication,
  });
  const url = '/organizations/default/x';
  const answer = await app.inject({ url, headers: headersOf({ name: 'alice' }, url, clock) });
  expect([answer.statusCode, answer.json()]).toEqual([404, { error: ["organization 'default' does not exist."] }]);
  await app.close();
  await directory.close();
});

it('its clients are refused from the moment it is gone, though their rows go later, and also by the next of its name', async () => {
  const directory = await openDirectory();
  const { auth, clock, organization } = directory;
  await directory.addClient('service', 'ci');
  const { token } = await directory.token('ci', organization);
  const app = await appOn(directory);
  const url = '/organizations/default/x';
  const statuses = () =>
    Promise.all(
      [{ name: 'ci' }, { token }].map(async (credentials) => {
        const { statusCode } = await app.inject({ url, headers: headersOf(credentials, url, clock) });
        return statusCode;
      }),
    );
  expect(await statuses()).toEqual([200, 200]);
  await auth.organizations.remove(organization, ME);
  expect(await statuses()).toEqual([401, 401]);
  await auth.organizations.create('default', ME);
  expect(await statuses()).toEqual([401, 401]);
  await auth.remnants.clear();
  expect(await statuses()).toEqual([401, 401]);
  await app.close();
  await directory.close();
});
