import { ManualClock } from '@muster/base';
import { createAuth, systemRandom } from '@muster/platform/auth';
import { SealingKey } from '@muster/platform/secrets';
import { firstServerKey } from '@muster/signing';
import type { Store } from '@muster/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DECLARED } from '../../platform/test/support/layers.js';
import { ME, newKey, sharedKey } from '../../platform/test/support/personas.js';
import { openRecorder } from '../../platform/test/support/recorder.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { openTestStore } from '../../platform/test/support/test-store.js';
import { startTestServer, type TestServer } from './support/test-server.js';

let server: TestServer;
let api: Client;
const clock = new ManualClock();
const public_key = sharedKey().publicKey;

beforeAll(async () => {
  server = await startTestServer({ clock });
  api = server.api;
});
afterAll(() => server.stop());

const ORG = '/organizations/default';

async function newToken(uses: number, ttl = 3600): Promise<string> {
  const answer = await api.post(`${ORG}/tokens`, { uses, ttl });
  return (answer.body as { token: string }).token;
}

const enrol = (token: string, name: string, key = public_key) =>
  api.as(null).post(`${ORG}/enroll`, { token, name, public_key: key });

describe('enrolment', () => {
  it('strangers with made-up tokens never get to write', async () => {
    const test = await openTestStore();
    let transactions = 0;
    const store: Store = {
      ...test.store,
      transact(work) {
        transactions += 1;
        return test.store.transact(work);
      },
    };
    const auth = createAuth({
      store,
      recorder: await openRecorder(store, clock),
      clock,
      random: systemRandom,
      incarnation: 'test',
      rights: DECLARED.rights,
      selection: { check: () => undefined, select: () => [] },
      serverKeys: firstServerKey(sharedKey()),
      sealing: SealingKey.of(new Uint8Array(32)),
      auditFailed: () => undefined,
      standingFailed: () => undefined,
    });
    const organization = await auth.organizations.create('alone', ME);
    const made = transactions;
    const request = { token: 'enrol_guess', name: 'stranger', publicKey: public_key };
    await expect(auth.enrolment.enrol(organization, request)).rejects.toMatchObject({ code: 'invalid_token' });
    expect(transactions).toBe(made);
    await test.close();
  });

  it('registers a node that can sign and is known, and down', async () => {
    const answer = await enrol(await newToken(1), 'fresh');
    const audit = await api.get(`${ORG}/audit?action=node.enrol&limit=1`);
    expect(audit.body).toMatchObject([{ actor: 'fresh', address: '127.0.0.1' }]);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({ name: 'fresh', organization: 'default' });
    const node = api.as({ name: 'fresh', privateKey: sharedKey().privateKey });
    expect((await node.get(`${ORG}/pushy/node_states/fresh`)).body).toMatchObject({ status: 'down' });
  });

  it('uses a token up', async () => {
    const token = await newToken(2);
    expect((await enrol(token, 'one')).status).toBe(201);
    expect((await enrol(token, 'two')).status).toBe(201);
    expect((await enrol(token, 'three')).status).toBe(401);
  });

  it('two agents at once never share the last use', async () => {
    const token = await newToken(1);
    const answers = await Promise.all(['left', 'right', 'middle'].map((name) => enrol(token, name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
  });

  it('the same name and key again is answered 200 and burns no use', async () => {
    const token = await newToken(1);
    expect((await enrol(token, 'again')).status).toBe(201);
    expect((await enrol(token, 'again')).status).toBe(200);
  });

  it('the same name and key again is no second entry in the audit', async () => {
    const token = await newToken(1);
    await Promise.all([enrol(token, 'told-once'), enrol(token, 'told-once')]);
    await enrol(token, 'told-once');
    const entries = (await api.get(`${ORG}/audit?action=node.enrol&actor=told-once`)).body as object[];
    expect(entries).toHaveLength(1);
  });

  it('a name with another key is refused until an admin removes the node', async () => {
    const token = await newToken(5);
    const other = newKey().publicKey;
    await enrol(token, 'claimed');
    const refused = await enrol(token, 'claimed', other);
    expect(refused.status).toBe(409);
    await api.delete(`${ORG}/nodes/claimed`);
    expect((await enrol(token, 'claimed', other)).status).toBe(201);
  });

  it('a refused enrolment burns no use', async () => {
    const token = await newToken(1);
    await enrol(token, 'fresh', newKey().publicKey);
    expect((await enrol(token, 'late')).status).toBe(201);
  });

  it('an expired token is refused', async () => {
    const token = await newToken(1, 60);
    clock.advance(59_999);
    expect((await enrol(token, 'in-time')).status).toBe(201);
    const second = await newToken(1, 60);
    clock.advance(60_000);
    expect((await enrol(second, 'too-late')).status).toBe(401);
  });

  it('an unknown token is refused, and so is one of another organization', async () => {
    await api.post('/organizations', { name: 'other' });
    const foreign = (await api.post('/organizations/other/tokens', {})).body as { token: string };
    for (const token of ['enrol_nonsense', foreign.token]) {
      const answer = await enrol(token, 'stranger');
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ error: ['the token is unknown, used up or expired'] });
    }
  });

  describe('takes no name that carries trust', () => {
    const refused = async (name: string, why: string) => {
      const answer = await enrol(await newToken(1), name);
      expect([answer.status, answer.headers.get('x-muster-error')]).toEqual([403, 'name_not_enrollable']);
      expect(answer.text).toContain(why);
      expect((await api.get(`${ORG}/nodes/${name}`)).status).toBe(404);
    };

    it('never hands out rights: a name that an admin put into a group is refused', async () => {
      await api.put(`${ORG}/groups/push_job_writers`, { clients: ['deployer'] });
      await refused('deployer', 'it is in a group');
      await api.delete(`${ORG}/groups/push_job_writers`);
    });

    it('nor one that holds a grant on a node group', async () => {
      await api.put(`${ORG}/node_groups/prod`, { nodes: [], execute: { clients: ['runner'] } });
      await refused('runner', 'it holds a grant on a node group');
    });

    it('nor one that holds a restricted event type', async () => {
      await api.put(`${ORG}/events/access/publish/billing.*`, { clients: ['biller'] });
      await refused('biller', 'it holds a restricted event type');
    });

    it('nor the name of a user, whose events its own would look like', async () => {
      await refused('admin', 'it is the name of a user');
    });
  });

  it('a name that is no name is refused with its field', async () => {
    for (const name of ['', 'a/b', '..', 'a b', 'x'.repeat(256)]) {
      const answer = await enrol(await newToken(1), name);
      expect(answer.status, name).toBe(400);
      expect(answer.text).toContain('invalid name');
    }
  });

  it('tokens are stored as hashes, and shown once', async () => {
    const token = await newToken(1);
    const listed = (await api.get(`${ORG}/tokens`)).text;
    expect(listed).not.toContain(token);
    expect(listed).toContain('uses_left');
  });

  it('a deleted token is useless', async () => {
    const made = (await api.post(`${ORG}/tokens`, {})).body as { id: string; token: string };
    expect((await api.delete(`${ORG}/tokens/${made.id}`)).status).toBe(204);
    expect((await enrol(made.token, 'nobody')).status).toBe(401);
  });
});

describe('access tokens', () => {
  it('expire', async () => {
    const { token } = (await api.post('/access_tokens', { ttl: 60 })).body as { token: string };
    const bearer = api.as({ token });
    expect((await bearer.get(`${ORG}/groups`)).status).toBe(200);
    clock.advance(60_000);
    expect((await bearer.get(`${ORG}/groups`)).status).toBe(401);
  });

  it('for others are made by server administrators alone', async () => {
    await api.post('/users', { name: 'plain', public_key, organization: 'default' });
    const plain = api.as({ name: 'plain', privateKey: sharedKey().privateKey });
    const clocked = (await api.post('/access_tokens', { user: 'plain' })).status;
    expect(clocked).toBe(201);
    expect((await plain.post('/access_tokens', { user: 'admin' })).status).toBe(403);
    const own = (await plain.get('/access_tokens')).body as { user: string }[];
    expect(own.map(({ user }) => user)).toEqual(['plain']);
  });
});
