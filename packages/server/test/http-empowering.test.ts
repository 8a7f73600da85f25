import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Who finds an access token can use it until it ends, and cannot make anything of it that stays. */

type Operation = Readonly<Record<string, unknown>>;

let server: TestServer;
let operations: readonly (readonly [route: string, operation: Operation])[];
/** With the access token of the first admin, who may do everything. */
let thief: Client;

beforeAll(async () => {
  server = await startTestServer();
  const { paths } = (await server.api.as(null).get('/openapi.json')).body as {
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  );
  const { token } = (await server.api.post('/access_tokens', {})).body as { token: string };
  thief = server.api.as({ token });
});
afterAll(() => server.stop());

const open = (operation: Operation) => ['public', 'enrol', 'login'].includes(String(operation['x-permission']));

/** As clients of Agave have them, who know tokens only: with the organization of the login, and in the path. */
const LIKE_AGAVE = [
  'DELETE /apps/v2/{id}',
  'DELETE /jobs/v2/{id}',
  'DELETE /jobs/v2/{id}/pems',
  'DELETE /jobs/v2/{id}/pems/{user}',
  'DELETE /systems/v2/{id}',
  'POST /apps/v2',
  'POST /apps/v2/{id}',
  'POST /jobs/v2',
  'POST /jobs/v2/{id}',
  'POST /jobs/v2/{id}/cancel',
  'POST /jobs/v2/{id}/hide',
  'POST /jobs/v2/{id}/kill',
  'POST /jobs/v2/{id}/pause',
  'POST /jobs/v2/{id}/pems',
  'POST /jobs/v2/{id}/pems/{user}',
  'POST /jobs/v2/{id}/resubmit',
  'POST /jobs/v2/{id}/resume',
  'POST /jobs/v2/{id}/stop',
  'POST /jobs/v2/{id}/unhide',
  'POST /systems/v2',
  'POST /systems/v2/{id}',
  'PUT /apps/v2/{id}',
  'PUT /systems/v2/{id}',
];

describe('an access token, even an admin’s', () => {
  it('changes nothing but this: a new route is to be thought about before it is listed here', () => {
    const left = operations.filter(
      ([route, operation]) => !route.startsWith('GET ') && !open(operation) && operation['x-empowers'] !== true,
    );
    expect(left.map(([route]) => route).sort()).toEqual(
      [
        // Who leads a cluster changes nobody's rights.
        'POST /cluster/servers/{name}/drain',
        'POST /cluster/servers/{name}/undrain',
        'DELETE /organizations/{org}/calendars/{calendar}',
        'POST /organizations/{org}/calendars',
        'DELETE /organizations/{org}/collections/{name}',
        'DELETE /organizations/{org}/disbatch/queues/{queue}',
        'DELETE /organizations/{org}/events/durable/{principal}/{name}',
        'DELETE /organizations/{org}/events/scheduled/{id}',
        'DELETE /organizations/{org}/login',
        'DELETE /organizations/{org}/notifications/{name}',
        'DELETE /organizations/{org}/queues/{queue}',
        'DELETE /organizations/{org}/rules/{rule}',
        'DELETE /organizations/{org}/runbooks/{runbook}',
        'DELETE /organizations/{org}/schedules/{schedule}',
        'DELETE /organizations/{org}/sessions/{id}',
        'DELETE /organizations/{org}/tasks/{id}',
        'DELETE /session',
        'PATCH /organizations/{org}/queues/{queue}',
        'POST /organizations/{org}/approvals/{id}/deny',
        'POST /organizations/{org}/collections/{name}',
        'POST /organizations/{org}/disbatch-import',
        'POST /organizations/{org}/disbatch/balance',
        'POST /organizations/{org}/disbatch/delete-queue-json',
        'POST /organizations/{org}/disbatch/nodes/{node}',
        'POST /organizations/{org}/disbatch/queue-create-tasks-from-query-json',
        'POST /organizations/{org}/disbatch/queue-create-tasks-json',
        'POST /organizations/{org}/disbatch/queue-prototypes-json',
        'POST /organizations/{org}/disbatch/queues',
        'POST /organizations/{org}/disbatch/queues/{queue}',
        'POST /organizations/{org}/disbatch/search-tasks-json',
        'POST /organizations/{org}/disbatch/set-queue-attr-json',
        'POST /organizations/{org}/disbatch/start-queue-json',
        'POST /organizations/{org}/disbatch/tasks',
        'POST /organizations/{org}/disbatch/tasks/search',
        'POST /organizations/{org}/disbatch/tasks/{queue}',
        'POST /organizations/{org}/disbatch/tasks/{queue}/{collection}',
        // Looks: changes nothing.
        'POST /organizations/{org}/issuers/{name}/test',
        'POST /organizations/{org}/nodes/{node}/systems/{session}',
        'POST /organizations/{org}/notifications/{name}/test',
        'POST /organizations/{org}/pushy/jobs',
        'POST /organizations/{org}/pushy/jobs/preview',
        // To nodes alone, which have no tokens.
        'POST /organizations/{org}/pushy/jobs/{id}/secrets',
        'POST /organizations/{org}/queues',
        'POST /organizations/{org}/queues/{queue}/drain',
        'POST /organizations/{org}/queues/{queue}/pause',
        'POST /organizations/{org}/queues/{queue}/resume',
        'POST /organizations/{org}/queues/{queue}/tasks',
        'POST /organizations/{org}/queues/{queue}/tasks/actions',
        // On tasks that there are, for as long as its user may.
        'POST /organizations/{org}/queues/{queue}/tasks/bulk',
        'POST /organizations/{org}/queues/{queue}/tasks/bulk/{bulk}/stop',
        'POST /organizations/{org}/rules/dry-run',
        // Nobody can do more afterwards.
        'POST /organizations/{org}/rules/{rule}/off',
        'POST /organizations/{org}/runbooks/{runbook}/preview',
        'POST /organizations/{org}/runbooks/{runbook}/run',
        'POST /organizations/{org}/schedules/{schedule}/pause',
        'POST /organizations/{org}/schedules/{schedule}/run',
        'POST /organizations/{org}/sign-in-links',
        'POST /organizations/{org}/ssh-nodes/{node}/test',
        'POST /organizations/{org}/tasks/actions',
        // On tasks that there are, for as long as its user may.
        'POST /organizations/{org}/tasks/bulk',
        'POST /organizations/{org}/tasks/bulk/{bulk}/stop',
        'POST /organizations/{org}/tasks/{id}/cancel',
        'POST /organizations/{org}/tasks/{id}/hold',
        'POST /organizations/{org}/tasks/{id}/release',
        'POST /organizations/{org}/tasks/{id}/retry',
        'POST /organizations/{org}/tasks/{id}/secrets',
        'POST /session/ticket',
        'PATCH /organizations/{org}/pushy/files/{sha256}',
        'PUT /organizations/{org}/pushy/files/{sha256}',
        'PUT /organizations/{org}/pushy/jobs/{id}/abort',
        'PUT /organizations/{org}/pushy/jobs/{id}/continue',
        'DELETE /organizations/{org}/job-messages/{id}',
        'DELETE /organizations/{org}/job-queues/{queue}',
        'POST /organizations/{org}/job-import',
        'DELETE /organizations/{org}/job-notifications/{id}/subscriptions/{subscription}',
        'POST /organizations/{org}/job-messages/{id}/resubmit',
        'POST /organizations/{org}/job-notifications/{id}',
        'POST /organizations/{org}/job-queues/import',
        'POST /organizations/{org}/job-queues/test',
        'POST /organizations/{org}/job-recovery/{id}/give-up',
        'POST /organizations/{org}/job-recovery/{id}/test-now',
        'POST /organizations/{org}/job-workers/{id}/quiesce',
        'POST /organizations/{org}/job-workers/{id}/resume',
        'POST /organizations/{org}/job-workers/{id}/shutdown',
        'POST /organizations/{org}/job-workers/{id}/suspend',
        'PUT /organizations/{org}/job-queues/{queue}',
        ...LIKE_AGAVE.flatMap((route) => [route, route.replace(' ', ' /organizations/{org}')]),
      ].sort(),
    );
  });

  it('is refused, with words, by every route that makes or empowers anybody', async () => {
    const empowering = operations.filter(([, operation]) => operation['x-empowers'] === true);
    expect(empowering.length).toBeGreaterThan(20);
    for (const [route, operation] of empowering) {
      const [method = '', path = ''] = route.split(' ');
      const url = path
        .replace('{org}', 'default')
        .replace('{action}', 'publish')
        .replace(/\{\w+\}/g, 'admin');
      const answer = await thief.call(method, url, { body: {} });
      expect([route, answer.status, answer.headers.get('x-muster-error')]).toEqual([route, 403, 'signature_required']);
      expect(answer.text).toContain('this needs a signed request');
      expect(operation.security, route).toEqual([{ chefSignature: [] }]);
    }
  });

  it('cannot be made into an admin of one’s own', async () => {
    const { publicKey, privateKey } = newKey();
    const node = await thief.post('/organizations/default/nodes', { name: 'shadow', public_key: publicKey });
    const group = await thief.put('/organizations/default/groups/admins', { users: ['admin'], clients: ['shadow'] });
    expect([node.status, group.status]).toEqual([403, 403]);
    const shadow = server.api.as({ name: 'shadow', privateKey });
    expect((await shadow.get('/organizations/default/groups')).status).toBe(401);
  });

  it('makes no system of this very host, on which commands run as the server’s user', async () => {
    const body = { name: 'here', type: 'local', root: '/tmp' };
    const answer = await thief.post('/organizations/default/systems/v2', body);
    expect([answer.status, answer.headers.get('x-muster-error')]).toEqual([403, 'signature_required']);
  });

  it('still reads, and starts and aborts jobs', async () => {
    const jobs = '/organizations/default/pushy/jobs';
    expect((await thief.get('/organizations/default/audit')).status).toBe(200);
    const { id } = (await thief.post(jobs, { command: 'sleep 1', nodes: ['nobody'] })).body as { id: string };
    expect((await thief.get(`${jobs}/${id}`)).status).toBe(200);
    expect((await thief.put(`${jobs}/${id}/abort`)).status).toBe(200);
  });
});

it('a route that changes something and does not say whether it empowers keeps the server from starting', async () => {
  const started = startTestServer({
    routes: (app) => void app.post('/careless', { config: { permission: 'member' } }, async () => 'hello'),
  });
  await expect(started).rejects.toThrow('routes that do not say whether they empower: POST /careless');
});
