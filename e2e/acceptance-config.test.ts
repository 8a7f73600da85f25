import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Persona, Reply } from './support/api-client.js';
import { Fleet } from './support/fleet.js';
import { createPersonas, type Personas, withReadersAndWriters } from './support/personas.js';

/** Acceptance list, reference sheet §9.4: `/organizations/ORG/pushy/config/NODE`. */
const CCPK = 'ccpk=1234567890123456789012345678901234567890';

let fleet: Fleet;
let personas: Personas;

beforeAll(async () => {
  fleet = await Fleet.start();
  personas = await createPersonas(fleet.api);
});
afterAll(() => fleet.stop());

const config = (persona: Persona, node = 'DONKEY'): Promise<Reply> =>
  fleet.api.as(persona).get(`pushy/config/${node}?${CCPK}`);

describe('without a node name', () => {
  test.each([
    ['CONFIG-1', 'GET'],
    ['CONFIG-2', 'PUT'],
    ['CONFIG-3', 'POST'],
    ['CONFIG-4', 'DELETE'],
  ])('%s %s is not found', async (_, method) => {
    expect((await fleet.api.call(method, fleet.api.path('pushy/config/'))).status).toBe(404);
  });
});

test('CONFIG-5 GET as admin user answers the whole configuration', async () => {
  const reply = await config(personas.admin);
  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({
    type: 'config',
    node: 'DONKEY',
    organization: 'default',
    host: expect.any(String),
    public_key: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/),
    push_jobs: {
      heartbeat: {
        out_addr: expect.stringMatching(/^tcp:\/\/.+:\d+$/),
        command_addr: expect.stringMatching(/^tcp:\/\/.+:\d+$/),
        interval: fleet.heartbeatInterval,
        offline_threshold: 3,
        online_threshold: 2,
      },
    },
    encoded_session_key: { method: 'hmac_sha256', key: expect.any(String) },
    curve_public_key: expect.stringMatching(/^.{40}$/),
    lifetime: 3600,
    max_message_skew: 300,
    max_body_size: 65536,
    incarnation_id: expect.any(String),
  });
});

test.each([
  ['CONFIG-6', 'PUT'],
  ['CONFIG-7', 'POST'],
  ['CONFIG-8', 'DELETE'],
])('%s %s with a node name is not allowed', async (_, method) => {
  expect((await fleet.api.call(method, fleet.api.path('pushy/config/DONKEY'))).status).toBe(405);
});

test.each([
  ['CONFIG-9', 'admin'],
  ['CONFIG-10', 'normal'],
] as const)('%s GET as %s user', async (_, persona) => {
  expect((await config(personas[persona])).status).toBe(200);
});

test('CONFIG-11 GET of its own node as member client', async () => {
  expect((await config(personas.memberClient, 'member-client')).status).toBe(200);
});

test('CONFIG-12 GET as a user that does not exist', async () => {
  const reply = await config(personas.invalid);
  expect(reply.status).toBe(401);
  expect(reply.json).toEqual({
    error: ["Failed to authenticate as 'invalid'. Ensure that your node_name and client key are correct."],
  });
});

test('CONFIG-13 GET as a user outside the organization', async () => {
  const reply = await config(personas.outside);
  expect(reply.status).toBe(403);
  expect(reply.json).toEqual({ error: ["'outside-user' is not associated with organization 'default'"] });
});

test('CONFIG-14 GET as a client with another key', async () => {
  expect((await config(personas.bogusClient, 'member-client')).status).toBe(401);
});

test('CONFIG-15 GET of another node as member client', async () => {
  const reply = await config(personas.memberClient);
  expect(reply.status).toBe(403);
  expect(reply.json).toEqual({ error: ['Client and node name must match'] });
});

describe('with readers and writers groups', () => {
  const grouped = (persona: Persona): Promise<Reply> => withReadersAndWriters(fleet.api, false, () => config(persona));

  test('CONFIG-16 GET as a user in them', async () => {
    expect((await grouped(personas.normal)).status).toBe(200);
  });

  test('CONFIG-17 GET as an admin who is not in them', async () => {
    const reply = await grouped(personas.admin);
    expect(reply.status).toBe(403);
    expect(reply.json).toEqual({
      error: ["User or client 'admin' does not have access to that action on this server."],
    });
  });

  test('CONFIG-20 GET as a listed user outside the organization', async () => {
    const reply = await grouped(personas.outside);
    expect(reply.status).toBe(403);
    expect(reply.json).toEqual({ error: ["'outside-user' is not associated with organization 'default'"] });
  });
});

test('CONFIG-21 GET in an organization that does not exist', async () => {
  const reply = await fleet.api.call('GET', `/organizations/nowhere/pushy/config/DONKEY?${CCPK}`);
  expect(reply.status).toBe(404);
});

test('the spec names the route connect; both are served (N2)', async () => {
  const reply = await fleet.api.get(`pushy/connect/DONKEY?${CCPK}`);
  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({ type: 'config', push_jobs: { command_addr: expect.any(String) } });
});
