import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from './support/test-server.js';

type Operation = Readonly<Record<string, unknown>> & { readonly 'x-permission'?: string };
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

let server: TestServer;
let paths: Paths;

beforeAll(async () => {
  server = await startTestServer();
  paths = ((await server.api.as(null).get('/openapi.json')).body as { paths: Paths }).paths;
});
afterAll(() => server.stop());

function operations(): readonly (readonly [method: string, path: string, operation: Operation])[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [method.toUpperCase(), path, operation] as const),
  );
}

describe('the gate', () => {
  it('a route that names no permission keeps the server from starting', async () => {
    const started = startTestServer({ routes: (app) => void app.get('/careless', async () => 'hello') });
    await expect(started).rejects.toThrow('routes without a permission: GET /careless');
  });

  it('only these handlers are reached without authentication', () => {
    const open = operations().filter(([, , operation]) =>
      ['public', 'enrol', 'login'].includes(operation['x-permission'] ?? ''),
    );
    expect(open.map(([method, path]) => `${method} ${path}`).sort()).toEqual([
      'GET /_status',
      'GET /job-workers/connection',
      'GET /metrics',
      'GET /openapi.json',
      'GET /organizations/{org}/login',
      'GET /organizations/{org}/login/{name}/callback',
      'GET /pushy/_status',
      'GET /stomp',
      'POST /organizations/{org}/enroll',
      'POST /organizations/{org}/login',
      'POST /organizations/{org}/login/{name}',
      'POST /session',
      'POST /session/preview',
    ]);
  });

  it('every other route refuses an unsigned request', async () => {
    const closed = operations().filter(
      ([, , operation]) => !['public', 'enrol', 'login'].includes(operation['x-permission'] ?? ''),
    );
    expect(closed.length).toBeGreaterThan(30);
    for (const [method, path] of closed) {
      const url = path.replace('{org}', 'default').replace(/\{(\w+|\*)\}/g, 'x');
      const answer = await server.api.as(null).call(method, url);
      // Where clients of Agave come in, other logins than signatures are asked for, too; of a browser no signature is, nor of clients of Disbatch.
      const expected = /\/v2(\/|$)|\/job-queues|^\/session(\/|$)|\{org\}\/disbatch\//.test(path)
        ? 'login_missing'
        : 'missing_auth_headers';
      expect(answer.headers.get('x-muster-error'), `${method} ${path}`).toBe(expected);
    }
  });
});

describe('bearer tokens', () => {
  const make = async (user: string) => {
    const { publicKey } = (await import('../../platform/test/support/personas.js')).sharedKey();
    await server.api.post('/users', { name: user, public_key: publicKey, organization: 'default' });
    return (await server.api.post('/access_tokens', { user, ttl: 60 })).body as { id: string; token: string };
  };

  it('stand in for a signature', async () => {
    const { token } = await make('robot');
    const answer = await server.api.as({ token }).get('/organizations/default/pushy/node_states');
    expect(answer.status).toBe(200);
  });

  it('are refused when unknown, with a challenge', async () => {
    const answer = await server.api.as({ token: 'access_nonsense' }).get('/organizations/default/groups');
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({ error: ['the token is unknown, used up or expired'] });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('are refused once deleted', async () => {
    const { id, token } = await make('former-robot');
    expect((await server.api.delete(`/access_tokens/${id}`)).status).toBe(204);
    expect((await server.api.as({ token }).get('/organizations/default/groups')).status).toBe(401);
  });
});
