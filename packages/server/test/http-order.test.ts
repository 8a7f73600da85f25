import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Personas } from '../../platform/test/support/personas.js';
import { reply } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** The order of checks of sheet §7.2: each request below is wrong in two ways, and the earlier one answers. */

let server: TestServer;
let personas: Personas;

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
});
afterAll(() => server.stop());

const ORG = '/organizations/default/pushy';

describe('path and method', () => {
  it('an unknown path is 404 before anything else', async () => {
    const answer = await server.api.as(null).get('/organizations/default/nothing/here');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(answer.body).toEqual({ error: 'no such route: /organizations/default/nothing/here' });
  });

  it('an unknown path is 404 before its body is too large', async () => {
    expect((await server.api.as(null).post('/nowhere', 'x'.repeat(1_000_001))).status).toBe(404);
  });

  it('a path that is not valid percent-encoding is 400', async () => {
    expect((await server.api.as(null).get('/organizations/%zz/groups')).status).toBe(400);
  });

  it('a method that the path does not have is 405 with Allow before any authentication', async () => {
    const answer = await server.api.as(null).put(`${ORG}/jobs`, 'not json');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, POST');
  });

  it('HEAD is not offered where GET is', async () => {
    expect((await server.api.as(null).call('HEAD', `${ORG}/node_states`)).status).toBe(405);
  });

  it('a trailing slash and doubled slashes do not matter', async () => {
    const path = `${ORG}//node_states/`;
    expect((await server.api.get(path)).status).toBe(200);
  });

  it.each(['GET', 'PUT', 'POST', 'DELETE'])('CONFIG-1..4: %s config without a node name is 404', async (method) => {
    expect((await server.api.call(method, `${ORG}/config/`)).status).toBe(404);
  });
});

describe('signature headers, size, body, identity', () => {
  it('missing headers answer before a body that is too large', async () => {
    const answer = await server.api.as(null).post(`${ORG}/jobs`, 'x'.repeat(1_000_001));
    expect(answer.status).toBe(400);
    expect(answer.headers.get('x-muster-error')).toBe('missing_auth_headers');
  });

  it('a body that is too large answers before an unknown organization', async () => {
    const answer = await server.api.post('/organizations/nowhere/pushy/jobs', 'x'.repeat(1_000_001));
    expect(answer.status).toBe(413);
  });

  it('a body of exactly the limit is read', async () => {
    const answer = await server.api.post(`${ORG}/jobs`, ' '.repeat(999_998).concat('{}'));
    expect(answer.body).toEqual({ error: 'invalid command supplied' });
  });

  it('an invalid job answers before an unknown principal', async () => {
    const answer = await server.api.as(personas.invalid).post(`${ORG}/jobs`, { nodes: ['DONKEY'] });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: 'invalid command supplied' });
  });

  it('a missing ccpk answers before an unknown principal', async () => {
    const answer = await server.api.as(personas.invalid).get(`${ORG}/config/DONKEY`);
    expect(answer.body).toEqual({ error: ['Missing ccpk'] });
  });

  it('an unknown principal answers before an unknown organization', async () => {
    const answer = await server.api.as(personas.invalid).get('/organizations/nowhere/pushy/node_states');
    expect(answer.status).toBe(401);
  });

  it('what cannot be the name of an organization does not exist', async () => {
    expect((await server.api.get('/organizations/A%00B/groups')).status).toBe(404);
  });
});

describe('permission, Accept, existence, content type', () => {
  it('missing permission answers before Accept', async () => {
    const answer = await server.api
      .as(personas.normal)
      .call('GET', '/organizations/default/tokens', { headers: { accept: 'text/html' } });
    expect(answer.status).toBe(403);
    expect(answer.body).toEqual({
      error: ["User or client 'normal-user' does not have access to that action on this server."],
    });
  });

  it('Accept answers before existence', async () => {
    const job = `${ORG}/jobs/${'0'.repeat(32)}`;
    expect((await server.api.get(job, { accept: 'text/html' })).status).toBe(406);
    expect((await server.api.get(job)).status).toBe(404);
  });

  it('a feed is not JSON: SSE-5', async () => {
    const feed = `${ORG}/job_status_feed/${'0'.repeat(32)}`;
    expect((await server.api.get(feed, { accept: 'application/json' })).status).toBe(406);
  });

  it('a body that is not JSON is 415, last of all', async () => {
    const call = (client: typeof server.api) =>
      client.call('PUT', '/organizations/default/groups/g', {
        body: '{}',
        headers: { 'content-type': 'text/plain' },
      });
    expect((await call(server.api)).status).toBe(415);
    expect((await call(server.api.as(personas.normal))).status).toBe(403);
  });

  it('JSON that cannot be parsed is 400', async () => {
    const answer = await server.api.put('/organizations/default/groups/g', '{"users": [');
    expect(answer.status).toBe(400);
    expect(answer.headers.get('x-muster-error')).toBe('invalid_json');
  });

  it('JSON nested absurdly deep is 400, not a crash', async () => {
    const deep = '['.repeat(400_000) + ']'.repeat(400_000);
    expect((await server.api.put('/organizations/default/groups/g', deep)).status).toBe(400);
    expect((await server.api.get('/organizations/default/groups')).status).toBe(200);
  });

  it('a body whose bytes are not UTF-8 is 400', async () => {
    const path = `${ORG}/jobs`;
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array([0xff, 0xfe]),
    });
    expect((await reply(response)).status).toBe(400);
  });
});

describe('query parameters that there are not are refused', () => {
  it.each(['nodes?bogus=1', 'groups?bogus=1', 'nodes/n1?bogus=1', 'pushy/node_states?bogus=1', 'pushy/jobs?bogus=1'])(
    '%s',
    async (path) => {
      const answer = await server.api.get(`/organizations/default/${path}`);
      expect([answer.status, answer.body]).toEqual([
        400,
        { error: expect.stringMatching(/^invalid bogus: there is no such field/) },
      ]);
    },
  );

  it('but not where probes and browsers ask', async () => {
    expect((await server.api.as(null).get('/_status?probe=1')).status).toBe(200);
  });
});

it('the path of WebSockets answers who does not ask for one', async () => {
  const answer = await server.api.as(null).get('/stomp');
  expect([answer.status, answer.body]).toEqual([426, { error: '/stomp is a WebSocket' }]);
  expect(answer.headers.get('upgrade')).toBe('websocket');
});

describe('strict bodies name the field', () => {
  const put = (body: unknown) => server.api.put('/organizations/default/groups/some', body);

  it('an unknown field', async () => {
    expect((await put({ user: [] })).body).toEqual({
      error: 'invalid user: there is no such field; there are users, clients, groups, exclusive',
    });
  });

  it('a wrong element in a list', async () => {
    expect((await put({ users: ['fine', 5] })).body).toEqual({ error: 'invalid users.1: must be string' });
  });

  it('a missing field', async () => {
    const answer = await server.api.post('/organizations', {});
    expect(answer.body).toEqual({ error: 'invalid name: it is missing' });
  });

  it('a body where an object is wanted', async () => {
    expect((await put([])).body).toEqual({ error: 'invalid body: must be object' });
    expect((await put(undefined)).body).toEqual({ error: 'invalid body: must be object' });
  });

  it('a key that would become a prototype', async () => {
    expect((await put('{"__proto__": {"users": []}}')).status).toBe(400);
  });

  it('a query parameter of the wrong type', async () => {
    const answer = await server.api.get('/organizations/default/audit?limit=many');
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('limit');
  });
});
