import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { decryptSessionKey } from '@muster/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { MemoryTransport } from '../../nodes/test/support/nodes-fixture.js';
import type { Persona } from '../../platform/test/support/signed-client.js';
import { madeKey } from '../../signing/test/support/made-keys.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Discovery and node routes through the whole server; the network of the command channel is in memory. */

const clock = new ManualClock();
const transport = new MemoryTransport();
const ccpk = curveKeyPair().publicKey;
let server: TestServer;
let admin: Persona;
let user: Persona;
let outsider: Persona;
let donkey: Persona;

async function request(persona: Persona, path: string, options: { method?: string; body?: object } = {}) {
  const { method = 'GET', ...rest } = options;
  const { status, body } = await server.api.as(persona).call(method, path, rest);
  return { status, body: body ?? null };
}

const org = '/organizations/default';
const config = (node: string, query = `?ccpk=${encodeURIComponent(ccpk)}`) => `${org}/pushy/config/${node}${query}`;
const states = `${org}/pushy/node_states`;

async function create(path: string, name: string, key: number, more: object = {}): Promise<Persona> {
  const { publicKey, privateKey } = madeKey(key);
  const made = await request(admin, path, { method: 'POST', body: { name, public_key: publicKey, ...more } });
  expect(made).toMatchObject({ status: 201 });
  return { name, privateKey };
}

async function group(name: string, members: { users?: string[]; clients?: string[] } | null): Promise<void> {
  const method = members === null ? 'DELETE' : 'PUT';
  const path = `${org}/groups/${name}`;
  const answer = await request(admin, path, { method, ...(members && { body: { groups: [], ...members } }) });
  expect(answer.status).toBeLessThan(300);
}

beforeAll(async () => {
  server = await startTestServer({
    clock,
    transport,
    flags: { name: 'muster.test', 'heartbeat-interval': '1' },
  });
  admin = { name: 'admin', privateKey: await readFile(join(server.dataDir, 'admin.pem'), 'utf8') };
  user = await create('/users', 'ann', 1);
  outsider = await create('/users', 'eve', 2, { organization: null });
  donkey = await create(`${org}/nodes`, 'DONKEY', 3);
});

afterAll(async () => {
  await server.stop();
});

describe('CONFIG: configuration of a node (sheet §9.4)', () => {
  test.each(['GET', 'PUT', 'POST', 'DELETE'])('CONFIG-1..4: %s without a node name', async (method) => {
    expect((await request(admin, `${org}/pushy/config/`, { method })).status).toBe(404);
  });

  test('CONFIG-5: every field', async () => {
    const { status, body } = await request(admin, config('DONKEY'));
    expect(status).toBe(200);
    expect(body).toEqual({
      type: 'config',
      host: 'muster.test',
      push_jobs: {
        heartbeat: {
          out_addr: 'tcp://127.0.0.1:10000',
          command_addr: 'tcp://127.0.0.1:10001',
          interval: 1,
          offline_threshold: 3,
          online_threshold: 2,
        },
        command_addr: 'tcp://127.0.0.1:10001',
      },
      node: 'DONKEY',
      organization: 'default',
      public_key: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----[\s\S]*-----END PUBLIC KEY-----\n\n$/),
      curve_public_key: 'x'.repeat(40),
      encoded_session_key: { method: 'hmac_sha256', key: expect.stringMatching(/^[A-Za-z0-9+/=]{300,}$/) },
      lifetime: 3600,
      max_message_skew: 300,
      max_body_size: 65_536,
      incarnation_id: server.running.incarnation,
      output_limit: 10_485_760,
    });
  });

  test.each(['PUT', 'POST', 'DELETE'])('CONFIG-6..8: %s with a node name', async (method) => {
    expect((await request(admin, config('DONKEY', ''), { method })).status).toBe(405);
  });

  test('CONFIG-9..11: admin user, normal user and the node itself', async () => {
    for (const persona of [admin, user, donkey]) {
      expect((await request(persona, config('DONKEY'))).status).toBe(200);
    }
  });

  test('CONFIG-12: invalid user', async () => {
    const invalid = { name: 'invalid', privateKey: user.privateKey };
    expect(await request(invalid, config('DONKEY'))).toEqual({
      status: 401,
      body: { error: ["Failed to authenticate as 'invalid'. Ensure that your node_name and client key are correct."] },
    });
  });

  test('CONFIG-13: outside user', async () => {
    expect(await request(outsider, config('DONKEY'))).toEqual({
      status: 403,
      body: { error: ["'eve' is not associated with organization 'default'"] },
    });
  });

  test('CONFIG-14: bogus client', async () => {
    const bogus = { name: 'DONKEY', privateKey: user.privateKey };
    expect((await request(bogus, config('DONKEY'))).status).toBe(401);
  });

  test('CONFIG-15: another node', async () => {
    expect(await request(donkey, config('FIONA'))).toEqual({
      status: 403,
      body: { error: ['Client and node name must match'] },
    });
  });

  test('CONFIG-16, 17: with a readers group, members only', async () => {
    await group('pushy_job_readers', { users: ['ann'], clients: [] });
    try {
      expect((await request(user, config('DONKEY'))).status).toBe(200);
      expect(await request(admin, config('DONKEY'))).toEqual({
        status: 403,
        body: { error: ["User or client 'admin' does not have access to that action on this server."] },
      });
      expect((await request(donkey, config('DONKEY'))).status).toBe(200);
    } finally {
      await group('pushy_job_readers', null);
    }
  });

  test('CONFIG-21: an organization that does not exist', async () => {
    const path = config('DONKEY').replace('/default/', '/nowhere/');
    expect((await request(admin, path)).status).toBe(404);
  });

  test('a missing key is 400, one that is no key 401, both before the signature is looked at', async () => {
    const bogus = { name: 'DONKEY', privateKey: user.privateKey };
    expect(await request(bogus, config('DONKEY', ''))).toEqual({ status: 400, body: { error: ['Missing ccpk'] } });
    for (const wrong of ['?ccpk=short', `?ccpk=${'~'.repeat(40)}`, `?ccpk=${'%23'.repeat(40)}`, '?ccpk=a&ccpk=b']) {
      expect(await request(bogus, config('DONKEY', wrong))).toEqual({ status: 401, body: { error: ['Bad ccpk'] } });
    }
  });

  test('N2: the spec’s route answers the same, and needs a key unless spec 1.0 is turned on', async () => {
    const path = (query: string) => `${org}/pushy/connect/DONKEY${query}`;
    expect((await request(donkey, path(`?ccpk=${encodeURIComponent(ccpk)}`))).body).toMatchObject({ type: 'config' });
    expect(await request(donkey, path(''))).toEqual({ status: 400, body: { error: ['Missing ccpk'] } });
  });

  test('deployed clients keep their key, native ones get a fresh one for every request', async () => {
    const keyOf = async (version: string) => {
      const { body } = await request(donkey, config('DONKEY', `?ccpk=${encodeURIComponent(ccpk)}&version=${version}`));
      const { encoded_session_key } = body as { encoded_session_key: { key: string } };
      return Buffer.from(decryptSessionKey(encoded_session_key.key, donkey.privateKey)).toString('hex');
    };
    expect(await keyOf('2.0')).toBe(await keyOf('2.0'));
    expect(await keyOf('3.0')).not.toBe(await keyOf('3.0'));
  });
});

test('our own routes of nodes have times of ISO 8601', async () => {
  const { body } = await request(admin, '/organizations/default/nodes/DONKEY');
  const { created_at, updated_at, owner_since } = body as Record<string, string>;
  for (const time of [created_at, updated_at, owner_since]) expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('the history of a node is empty at first, and there for who may read nodes', async () => {
  expect(await request(admin, '/organizations/default/nodes/DONKEY/history')).toEqual({ status: 200, body: [] });
  expect((await request(admin, '/organizations/default/nodes/NOBODY/history')).status).toBe(404);
});

describe('NODES: node states (sheet §9.6, Push Jobs §6.5, §6.6)', () => {
  const state = {
    node_name: 'DONKEY',
    status: 'down',
    availability: 'unavailable',
    updated_at: 'Sun, 16 Sep 2012 00:00:00 GMT',
    owner_since: 'Sun, 16 Sep 2012 00:00:00 GMT',
    reason: 'never seen',
    via: 'agent',
  };

  test.each(['PUT', 'POST', 'DELETE'])('NODES-1..6: %s', async (method) => {
    expect((await request(admin, states, { method })).status).toBe(405);
    expect((await request(admin, `${states}/DONKEY`, { method })).status).toBe(405);
  });

  test('NODES-7..10: admin user, normal user and member client read them (N4: one object for both lineages)', async () => {
    for (const persona of [admin, user, donkey]) {
      expect(await request(persona, states)).toEqual({ status: 200, body: [state] });
      expect(await request(persona, `${states}/DONKEY`)).toEqual({ status: 200, body: state });
    }
  });

  test('NODES-11..18: invalid, outside and bogus', async () => {
    for (const path of [states, `${states}/DONKEY`]) {
      expect((await request({ ...user, name: 'invalid' }, path)).status).toBe(401);
      expect((await request(outsider, path)).status).toBe(403);
      expect((await request({ ...user, name: 'DONKEY' }, path)).status).toBe(401);
    }
  });

  test('NODES-19, 20 (N4): an unknown node is 404', async () => {
    expect(await request(admin, `${states}/some_node`)).toEqual({
      status: 404,
      body: { error: "node 'some_node' does not exist" },
    });
  });

  test('NODES-21..30: with a readers group', async () => {
    await group('pushy_job_readers', { users: ['ann'], clients: ['DONKEY'] });
    try {
      for (const path of [states, `${states}/DONKEY`]) {
        expect((await request(user, path)).status).toBe(200);
        expect((await request(donkey, path)).status).toBe(200);
        expect((await request(admin, path)).status).toBe(403);
        expect((await request(outsider, path)).status).toBe(403);
      }
    } finally {
      await group('pushy_job_readers', null);
    }
  });

  test('NODES-39, 40: unknown organization', async () => {
    expect((await request(admin, states.replace('default', 'nowhere'))).status).toBe(404);
    expect((await request(admin, `${states}/DONKEY`.replace('default', 'nowhere'))).status).toBe(404);
  });

  test('the list is paged when asked', async () => {
    await create(`${org}/nodes`, 'AAA', 4);
    await create(`${org}/nodes`, 'ZZZ', 4);
    const names = async (query: string) =>
      ((await request(admin, `${states}${query}`)).body as { node_name: string }[]).map((node) => node.node_name);
    expect(await names('')).toEqual(['AAA', 'DONKEY', 'ZZZ']);
    expect(await names('?limit=2')).toEqual(['AAA', 'DONKEY']);
    expect(await names('?limit=2&after=DONKEY')).toEqual(['ZZZ']);
    expect(await request(admin, `${states}?limit=0`)).toMatchObject({ status: 400 });
    for (const name of ['AAA', 'ZZZ']) await request(admin, `${org}/nodes/${name}`, { method: 'DELETE' });
  });
});

describe('inventory', () => {
  test('search answers the nodes that match, and how many there are', async () => {
    const { status, body } = await request(user, `${org}/nodes?q=${encodeURIComponent('name:DON* AND status:down')}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ total: 1, nodes: [{ node_name: 'DONKEY', owner: 'down', facts: {}, labels: {} }] });
    expect((await request(user, `${org}/nodes?q=${encodeURIComponent("name = 'FIONA'")}`)).body).toEqual({
      total: 0,
      nodes: [],
    });
  });

  test('a search that cannot be read says where', async () => {
    const { status, body } = await request(user, `${org}/nodes?q=${encodeURIComponent("name = 'DON")}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: expect.stringMatching(/^invalid search at character \d+/) });
  });

  test('one node in full', async () => {
    const { body } = await request(user, `${org}/nodes/DONKEY`);
    expect(body).toMatchObject({
      node_name: 'DONKEY',
      dialect: null,
      incarnation: null,
      last_end: null,
      heard_at: null,
    });
    expect((await request(user, `${org}/nodes/FIONA`)).status).toBe(404);
  });

  test('why', async () => {
    await create(`${org}/nodes`, 'SHREK', 4);
    const why = async () =>
      ((await request(user, `${org}/nodes/SHREK/why`)).body as { explanation: string }).explanation;
    expect(await why()).toMatch(/^SHREK has never been seen/);
    await request({ name: 'SHREK', privateKey: user.privateKey }, config('SHREK'));
    expect(await why()).toMatch(/signed with another key/);
  });

  test('only an admin deletes a node, and its key goes with it', async () => {
    const doomed = await create(`${org}/nodes`, 'FIONA', 4);
    const path = `${org}/nodes/FIONA`;
    expect((await request(user, path, { method: 'DELETE' })).status).toBe(403);
    expect((await request(admin, path, { method: 'DELETE' })).status).toBe(204);
    expect((await request(admin, path, { method: 'DELETE' })).status).toBe(404);
    expect((await request(doomed, config('FIONA'))).status).toBe(401);
  });
});
