import { ManualClock } from '@muster/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client, Reply } from '../../platform/test/support/signed-client.js';
import { madeKey } from '../../signing/test/support/made-keys.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const ORG = '/organizations/default';
const clock = new ManualClock();
let server: TestServer;
let api: Client;
beforeAll(async () => {
  server = await startTestServer({ clock });
  api = server.api;
  // Somebody else who can manage the server.
  const second = { name: 'second-admin', public_key: madeKey(9).publicKey, server_admin: true };
  expect((await api.post('/users', second)).status).toBe(201);
});
afterAll(() => server.stop());

interface Listed {
  readonly total: number;
  readonly keys: readonly {
    readonly fingerprint: string;
    readonly reason: string | null;
    readonly held_by: readonly { readonly type: string; readonly name: string }[];
    readonly revoked_by: string;
    readonly revoked_at: string;
  }[];
}

const list = async (path: string, query = '') => (await api.get(`${path}/revoked_keys${query}`)).body as Listed;

async function create(path: string, name: string, number: number, more: object = {}): Promise<Reply> {
  return api.post(path, { name, public_key: madeKey(number).publicKey, ...more });
}

async function fingerprintOf(path: string, name: string): Promise<string> {
  const keys = (await api.get(`${path}/${name}/keys`)).body as { fingerprint: string }[];
  return keys[0]?.fingerprint ?? '';
}

const revoke = (path: string, fingerprint: string, reason?: string) =>
  api.post(`${path}/revoked_keys`, { keys: [{ fingerprint, ...(reason !== undefined && { reason }) }] });

async function enrol(name: string, number: number): Promise<Reply> {
  const { token } = (await api.post(`${ORG}/tokens`, { uses: 1, ttl: 600 })).body as { token: string };
  return api.as(null).post(`${ORG}/enroll`, { token, name, public_key: madeKey(number).publicKey });
}

describe('a revoked key of an organization', () => {
  it('is taken from whoever has it, and cannot come back', async () => {
    await create(`${ORG}/nodes`, 'stolen', 1);
    const fingerprint = await fingerprintOf(`${ORG}/nodes`, 'stolen');
    const signs = async () =>
      (await api.as({ name: 'stolen', privateKey: madeKey(1).privateKey }).get(`${ORG}/pushy/node_states`)).status;
    const before = await signs();

    const revoked = await revoke(ORG, fingerprint, 'lost with the machine');
    expect([revoked.status, revoked.body]).toEqual([
      200,
      {
        keys: [{ fingerprint, held_by: [{ type: 'node', name: 'stolen' }], already: false, listed: true, kept_by: [] }],
      },
    ]);
    expect([before, await signs()]).toEqual([200, 401]);
    const why = async () => (await api.get(`${ORG}/nodes/stolen/why`)).text;
    expect(await why()).toContain('stolen is down: it has no key.');

    const told = `the key ${fingerprint} was revoked at ${new Date(clock.now()).toISOString()}: lost with the machine`;
    const ways = {
      'to the same node': await api.post(`${ORG}/nodes/stolen/keys`, { public_key: madeKey(1).publicKey }),
      'to another node': await create(`${ORG}/nodes`, 'other', 1),
      'to a service': await create(`${ORG}/services`, 'robot', 1),
      'by enrolment': await enrol('enrolled', 1),
    };
    for (const [way, { status, text }] of Object.entries(ways)) {
      expect([way, status, text]).toEqual([way, 403, expect.stringContaining(told)]);
    }
    // With another one it goes on.
    const { status } = await api.post(`${ORG}/nodes/stolen/keys`, { public_key: madeKey(2).publicKey });
    expect(status).toBe(201);
    expect(await why()).not.toContain('it has no key');
  });

  it('is on the list with whose it was, and by whom; to revoke it again changes nothing', async () => {
    await create(`${ORG}/services`, 'leaky', 3);
    const fingerprint = await fingerprintOf(`${ORG}/services`, 'leaky');
    clock.advance(1000);
    await revoke(ORG, fingerprint);
    const again = await revoke(ORG, fingerprint, 'another reason');
    expect(again.body).toEqual({ keys: [{ fingerprint, held_by: [], already: true, listed: true, kept_by: [] }] });
    const { total, keys } = await list(ORG, '?limit=1');
    expect(total).toBeGreaterThan(1);
    expect(keys).toEqual([
      {
        list: 'organization',
        fingerprint,
        reason: null,
        held_by: [{ type: 'service', name: 'leaky' }],
        revoked_by: 'admin',
        revoked_at: new Date(clock.now()).toISOString(),
      },
    ]);
    const audit = (await api.get(`${ORG}/audit?action=key.revoke`)).body as { target: string }[];
    expect(audit.filter(({ target }) => target === 'leaky')).toHaveLength(1);
  });

  it('need not be anybody’s: that of a node that was removed does not come back', async () => {
    await create(`${ORG}/nodes`, 'removed', 4);
    const fingerprint = await fingerprintOf(`${ORG}/nodes`, 'removed');
    expect((await api.delete(`${ORG}/nodes/removed`)).status).toBe(204);
    expect((await revoke(ORG, fingerprint)).body).toEqual({
      keys: [{ fingerprint, held_by: [], already: false, listed: true, kept_by: [] }],
    });
    expect((await enrol('removed', 4)).status).toBe(403);
  });

  it('may be registered again when it was taken off the list, and is nobody’s until then', async () => {
    await create(`${ORG}/nodes`, 'mistaken', 5);
    await api.post(`${ORG}/nodes/mistaken/keys`, { public_key: madeKey(6).publicKey });
    const fingerprint = await fingerprintOf(`${ORG}/nodes`, 'mistaken');
    await revoke(ORG, fingerprint);
    expect((await api.delete(`${ORG}/revoked_keys/${fingerprint}`)).status).toBe(204);
    expect((await api.delete(`${ORG}/revoked_keys/${fingerprint}`)).status).toBe(404);
    expect((await api.get(`${ORG}/nodes/mistaken/keys`)).body).toHaveLength(1);
    const { status } = await api.post(`${ORG}/nodes/mistaken/keys`, { public_key: madeKey(5).publicKey });
    expect(status).toBe(201);
  });

  it('is still good elsewhere: for a user, and in another organization', async () => {
    await create(`${ORG}/nodes`, 'here', 7);
    await revoke(ORG, await fingerprintOf(`${ORG}/nodes`, 'here'));
    expect((await api.post('/organizations', { name: 'elsewhere' })).status).toBe(201);
    expect((await create('/users', 'same-key', 7)).status).toBe(201);
    expect((await create('/organizations/elsewhere/nodes', 'there', 7)).status).toBe(201);
  });
});

describe('a key of a user', () => {
  it('is not revoked by an organization, which says who keeps it, and again', async () => {
    await create('/users', 'keeper', 11, { organization: 'default' });
    const fingerprint = await fingerprintOf('/users', 'keeper');
    const kept = {
      fingerprint,
      held_by: [],
      already: false,
      listed: false,
      kept_by: [{ type: 'user', name: 'keeper' }],
    };
    const { total } = await list(ORG);
    for (let time = 0; time < 2; time += 1) expect((await revoke(ORG, fingerprint)).body).toEqual({ keys: [kept] });
    expect((await list(ORG)).total).toBe(total);
    const signs = api.as({ name: 'keeper', privateKey: madeKey(11).privateKey });
    expect((await signs.get('/users/keeper/keys')).status).toBe(200);
  });

  it('is not told by name where the user is no member', async () => {
    await create('/users', 'stranger', 12, { organization: null });
    const answer = await revoke(ORG, await fingerprintOf('/users', 'stranger'));
    expect(answer.body).toMatchObject({ keys: [{ kept_by: [{ type: 'user', name: null }] }] });
  });

  it('is taken from a node that has it, too, and the user is told', async () => {
    await create('/users', 'both', 13, { organization: 'default' });
    await create(`${ORG}/nodes`, 'both', 13);
    const fingerprint = await fingerprintOf('/users', 'both');
    const kept_by = [{ type: 'user', name: 'both' }];
    const held_by = [{ type: 'node', name: 'both' }];
    const first = { fingerprint, held_by, already: false, listed: true, kept_by };
    expect((await revoke(ORG, fingerprint)).body).toEqual({ keys: [first] });
    expect((await revoke(ORG, fingerprint)).body).toEqual({ keys: [{ ...first, held_by: [], already: true }] });
  });
});

describe('a revoked key of the server', () => {
  it('is refused to everybody, and organizations see it on their lists', async () => {
    await create('/users', 'clumsy', 8);
    await create(`${ORG}/nodes`, 'shares', 8);
    const fingerprint = await fingerprintOf('/users', 'clumsy');
    const { body } = await revoke('', fingerprint, 'sent by mail');
    expect(body).toEqual({
      keys: [
        {
          fingerprint,
          held_by: [
            { type: 'node', name: 'shares' },
            { type: 'user', name: 'clumsy' },
          ],
          already: false,
          listed: true,
          kept_by: [],
        },
      ],
    });
    const signs = api.as({ name: 'clumsy', privateKey: madeKey(8).privateKey });
    expect((await signs.get('/users/clumsy/keys')).status).toBe(401);
    expect((await create('/users', 'next', 8)).status).toBe(403);
    expect((await create('/organizations/elsewhere/nodes', 'next', 8)).status).toBe(403);
    expect((await list(ORG)).keys.map((key) => key.fingerprint)).toContain(fingerprint);
    expect((await list('')).keys[0]).toMatchObject({
      list: 'server',
      fingerprint,
      held_by: [{ type: 'user', name: 'clumsy' }],
    });
  });

  it('is not the last with which a server administrator can sign', async () => {
    const own = await fingerprintOf('/users', 'admin');
    await revoke('', await fingerprintOf('/users', 'second-admin'));
    const answer = await revoke('', own);
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('no server administrator could sign')]);
    expect((await api.get('/users/admin/keys')).body).toHaveLength(1);
  });
});

describe('lists of revoked keys', () => {
  it('are for admins who sign', async () => {
    const node = { name: 'curious', privateKey: madeKey(10).privateKey };
    await create(`${ORG}/nodes`, 'curious', 10);
    const { token } = (await api.post('/access_tokens', {})).body as { token: string };
    const fingerprint = 'a'.repeat(64);
    expect((await api.as(node).get(`${ORG}/revoked_keys`)).status).toBe(403);
    // Outside of its organization nobody knows a node.
    expect((await api.as(node).get('/revoked_keys')).status).toBe(401);
    for (const path of [ORG, '']) {
      const borne = await api.as({ token }).post(`${path}/revoked_keys`, { keys: [{ fingerprint }] });
      expect([borne.status, borne.text]).toEqual([403, expect.stringContaining('needs a signed request')]);
    }
  });

  it('take fingerprints, and say so', async () => {
    const answer = await revoke(ORG, 'AB:CD');
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('keys.0.fingerprint')]);
  });
});
