import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Personas } from '../../platform/test/support/personas.js';
import { startTestServer, type TestServer } from './support/test-server.js';

let server: TestServer;
let personas: Personas;

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
});
afterAll(() => server.stop());

describe('/pushy/_status', () => {
  it.each([
    ['STATUS-1', 'PUT'],
    ['STATUS-2', 'POST'],
    ['STATUS-3', 'DELETE'],
  ])('%s: %s is 405', async (_case, method) => {
    const answer = await server.api.call(method, '/pushy/_status');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET');
  });

  it.each([
    ['STATUS-4', 'admin'],
    ['STATUS-5', 'normal'],
    ['STATUS-6', 'adminClient'],
    ['STATUS-7', 'invalid'],
    ['STATUS-8', 'outside'],
  ] as const)('%s: GET as %s is 200', async (_case, who) => {
    const answer = await server.api.as(personas[who]).get('/pushy/_status');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: "it's alive",
      incarnation_id: server.running.incarnation,
      node_fsm_count: 0,
      job_processes: [],
    });
  });

  it('needs no signature at all', async () => {
    expect((await server.api.as(null).get('/pushy/_status')).status).toBe(200);
  });
});

describe('/_status', () => {
  it("Push Jobs §6.1: says it's alive", async () => {
    const answer = await server.api.as(null).get('/_status');
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: "it's alive", store: { ok: true } });
  });
});

describe('/metrics', () => {
  it('counts requests by route and class of status, and denials by code', async () => {
    await server.api.as(personas.invalid).get('/organizations/default/groups');
    const answer = await server.api.as(null).get('/metrics');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(answer.text).toContain('route="/pushy/_status",status="2xx"');
    expect(answer.text).toContain('muster_denials_total{code="unknown_principal"}');
  });
});
