import { ManualClock } from '@muster/base';
import { decryptSessionKey, dialects } from '@muster/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { MemoryTransport } from '../../nodes/test/support/nodes-fixture.js';
import type { Client, Persona } from '../../platform/test/support/signed-client.js';
import { madeKey } from '../../signing/test/support/made-keys.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const ORG = '/organizations/default';
const clock = new ManualClock();
const transport = new MemoryTransport();
let server: TestServer;
let api: Client;

interface Key {
  readonly fingerprint: string;
  readonly public_key: string;
  readonly expires_at: string | null;
}

beforeAll(async () => {
  server = await startTestServer({ clock, transport });
  api = server.api;
});
afterAll(() => server.stop());

async function create(path: string, name: string): Promise<Persona> {
  const { publicKey, privateKey } = madeKey(1);
  const made = await api.post(path, { name, public_key: publicKey });
  expect(made.status, made.text).toBe(201);
  return { name, privateKey };
}

async function addKey(of: string, index: number): Promise<string> {
  const { publicKey } = madeKey(index);
  const added = await api.post(`${of}/keys`, { public_key: publicKey });
  expect(added.status, added.text).toBe(201);
  return (added.body as Key).fingerprint;
}

async function fingerprints(of: string): Promise<string[]> {
  const answer = await api.get(`${of}/keys`);
  expect(answer.status, answer.text).toBe(200);
  return (answer.body as Key[]).map(({ fingerprint }) => fingerprint);
}

describe.each([
  ['user', '/users'],
  ['node', `${ORG}/nodes`],
  ['service', `${ORG}/services`],
])('the keys of a %s', (type, path) => {
  it('are several: each signs, and one that was taken away signs no more', async () => {
    const name = `many-${type}`;
    const { privateKey } = await create(path, name);
    const second = madeKey(2);
    const [first = ''] = await fingerprints(`${path}/${name}`);
    const added = await addKey(`${path}/${name}`, 2);
    expect(await fingerprints(`${path}/${name}`)).toEqual(expect.arrayContaining([first, added]));
    const status = async (key: string) =>
      (await api.as({ name, privateKey: key }).get(`${ORG}/pushy/node_states`)).status;
    expect([await status(privateKey), await status(second.privateKey)]).toEqual([200, 200]);
    expect((await api.delete(`${path}/${name}/keys/${first}`)).status).toBe(204);
    expect([await status(privateKey), await status(second.privateKey)]).toEqual([401, 200]);
  });

  it('the last one stays', async () => {
    const name = `last-${type}`;
    await create(path, name);
    const [only = ''] = await fingerprints(`${path}/${name}`);
    const answer = await api.delete(`${path}/${name}/keys/${only}`);
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('it is the only one')]);
  });

  it('are not added twice, and one that is not there is not found', async () => {
    const name = `twice-${type}`;
    await create(path, name);
    const { publicKey } = madeKey(1);
    expect((await api.post(`${path}/${name}/keys`, { public_key: publicKey })).status).toBe(409);
    expect((await api.delete(`${path}/${name}/keys/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await api.get(`${path}/nobody/keys`)).status).toBe(404);
  });

  it('are changed with a signature, not with a bearer token', async () => {
    const name = `borne-${type}`;
    await create(path, name);
    const fingerprint = await addKey(`${path}/${name}`, 2);
    const { publicKey } = madeKey(3);
    const { token } = (await api.post('/access_tokens', {})).body as { token: string };
    const bearer = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = `${server.url}${path}/${name}/keys`;
    const body = JSON.stringify({ public_key: publicKey });
    const answers = [
      await fetch(url, { headers: bearer }),
      await fetch(url, { method: 'POST', headers: bearer, body }),
      await fetch(`${url}/${fingerprint}`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403]);
    expect(await fingerprints(`${path}/${name}`)).toHaveLength(2);
  });

  it('and every change of them is audited', async () => {
    const name = `told-${type}`;
    await create(path, name);
    const fingerprint = await addKey(`${path}/${name}`, 2);
    await api.delete(`${path}/${name}/keys/${fingerprint}`);
    if (type === 'user') return;
    const entries = (await api.get(`${ORG}/audit?limit=2`)).body as object[];
    expect(entries).toMatchObject([
      { actor: 'admin', action: 'key.delete', target: name, detail: { type, fingerprint } },
      { actor: 'admin', action: 'key.add', target: name, detail: { type, fingerprint } },
    ]);
  });
});

describe.each([
  ['user', '/users'],
  ['node', `${ORG}/nodes`],
  ['service', `${ORG}/services`],
])('a key of a %s that expires', (type, path) => {
  const HOUR = 3600;

  /** With a first key, of pair 1, and a second of pair 2 that is good for an hour. */
  async function withBrief(name: string): Promise<Key[]> {
    await create(path, name);
    const { publicKey } = madeKey(2);
    const added = await api.post(`${path}/${name}/keys`, { public_key: publicKey, ttl: HOUR });
    expect(added.status, added.text).toBe(201);
    const listed = (await api.get(`${path}/${name}/keys`)).body as Key[];
    const brief = listed.filter(({ expires_at }) => expires_at !== null);
    return [...listed.filter((key) => !brief.includes(key)), ...brief];
  }

  it('signs until then, and is refused afterwards with words that say why', async () => {
    const name = `brief-${type}`;
    const [, brief] = await withBrief(name);
    expect(Date.parse(brief?.expires_at ?? '')).toBe(clock.now() + HOUR * 1000);
    const { privateKey } = madeKey(2);
    const ask = () => api.as({ name, privateKey }).get(`${ORG}/pushy/node_states`);
    clock.advance(HOUR * 1000 - 1);
    expect((await ask()).status).toBe(200);
    clock.advance(1);
    const refused = await ask();
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining(`expired at ${brief?.expires_at}`)]);
    expect(refused.headers.get('x-muster-fix')).toContain(`muster ${type} add-key ${name} --public-key FILE`);
    expect(refused.text).toContain(`the key of '${name}'`);
    const first = madeKey(1);
    expect((await api.as({ name, privateKey: first.privateKey }).get(`${ORG}/pushy/node_states`)).status).toBe(200);
  });

  it('nobody learns of it who cannot sign with it', async () => {
    const name = `quiet-${type}`;
    await withBrief(name);
    clock.set(HOUR * 1000);
    const { privateKey } = madeKey(3);
    const refused = await api.as({ name, privateKey }).get(`${ORG}/pushy/node_states`);
    expect([refused.status, refused.text]).toEqual([401, expect.not.stringContaining('expired')]);
  });

  it('that was the last good one stays, and one that has expired goes', async () => {
    const name = `only-${type}`;
    const [lasting, brief] = await withBrief(name);
    clock.set(HOUR * 1000);
    const kept = await api.delete(`${path}/${name}/keys/${lasting?.fingerprint}`);
    expect([kept.status, kept.text]).toEqual([409, expect.stringContaining('all others have expired')]);
    expect((await api.delete(`${path}/${name}/keys/${brief?.fingerprint}`)).status).toBe(204);
  });

  it('may be the first of all', async () => {
    const { publicKey } = madeKey(1);
    const made = await api.post(path, { name: `first-${type}`, public_key: publicKey, key_ttl: HOUR });
    const { keys } = made.body as { keys: Key[] };
    expect([made.status, keys.map(({ expires_at }) => Date.parse(expires_at ?? ''))]).toEqual([
      201,
      [clock.now() + HOUR * 1000],
    ]);
  });
});

describe('the list of all keys', () => {
  interface Listed {
    readonly total: number;
    readonly keys: readonly (Key & { readonly type: string; readonly name: string })[];
  }
  const list = async (query: string): Promise<Listed> => {
    const answer = await api.get(`${ORG}/keys${query}`);
    expect(answer.status, answer.text).toBe(200);
    return answer.body as Listed;
  };

  it('has those of users, nodes and services of the organization alone, page by page', async () => {
    for (const [path, name] of [
      ['/users', 'zz-user'],
      [`${ORG}/nodes`, 'zz-node'],
      [`${ORG}/services`, 'zz-service'],
    ] as const) {
      await create(path, name);
    }
    const { publicKey } = madeKey(1);
    await api.post('/users', { name: 'zz-elsewhere', public_key: publicKey, organization: null });
    const { total, keys } = await list('?limit=10000');
    expect(keys).toHaveLength(total);
    expect(keys.filter(({ name }) => name.startsWith('zz-')).map(({ type, name }) => [type, name])).toEqual([
      ['node', 'zz-node'],
      ['service', 'zz-service'],
      ['user', 'zz-user'],
    ]);
    const rest = await list(`?limit=2&offset=${total - 2}`);
    expect([rest.total, rest.keys]).toEqual([total, keys.slice(-2)]);
  });

  it('shows those alone that expire soon, or have already, if asked', async () => {
    const before = await list('?expires_within=7200');
    await create(`${ORG}/services`, 'soon');
    for (const [index, ttl] of [
      [2, 7200],
      [3, 7201],
    ] as const) {
      const { publicKey } = madeKey(index);
      await api.post(`${ORG}/services/soon/keys`, { public_key: publicKey, ttl });
    }
    const { total, keys } = await list('?expires_within=7200');
    expect(total).toBe(before.total + 1);
    expect(keys.filter(({ name }) => name === 'soon').map(({ expires_at }) => Date.parse(expires_at ?? ''))).toEqual([
      clock.now() + 7_200_000,
    ]);
  });

  it('is for admins', async () => {
    const node = api.as(await create(`${ORG}/nodes`, 'nosy'));
    expect((await node.get(`${ORG}/keys`)).status).toBe(403);
  });
});

describe('the keys of nodes and services', () => {
  it('are the business of admins, not of the node itself', async () => {
    const node = api.as(await create(`${ORG}/nodes`, 'curious'));
    expect((await node.get(`${ORG}/nodes/curious/keys`)).status).toBe(403);
    const { publicKey } = madeKey(2);
    expect((await node.post(`${ORG}/nodes/curious/keys`, { public_key: publicKey })).status).toBe(403);
  });

  it('are found under their own type alone', async () => {
    await create(`${ORG}/services`, 'robot');
    expect((await api.get(`${ORG}/nodes/robot/keys`)).status).toBe(404);
  });
});

describe('a node with several keys', () => {
  async function configure(name: string, index: number): Promise<Uint8Array> {
    const { privateKey } = madeKey(index);
    const ccpk = encodeURIComponent(curveKeyPair().publicKey);
    const answer = await api.as({ name, privateKey }).get(`${ORG}/pushy/config/${name}?version=3.0&ccpk=${ccpk}`);
    expect(answer.status, answer.text).toBe(200);
    const { encoded_session_key: encoded } = answer.body as { encoded_session_key: { key: string } };
    return decryptSessionKey(encoded.key, privateKey);
  }

  function beat(node: string, key: Uint8Array): void {
    const about = { org: 'default', node, incarnation: 'i1', now: clock.now() };
    const message = { type: 'heartbeat', state: 'ready', jobId: null, last: null } as const;
    const frames = dialects.native.encodeAgent(message, about, { key, sent: 0, received: 0 }) ?? [];
    transport.handlers?.received('curve', [Buffer.from(node), ...frames]);
  }

  const heardAt = async (node: string) =>
    ((await api.get(`${ORG}/nodes/${node}`)).body as { heard_at: unknown }).heard_at;

  it('gets its configuration with any of them, encrypted for the one that signed', async () => {
    await create(`${ORG}/nodes`, 'both');
    await addKey(`${ORG}/nodes/both`, 2);
    await configure('both', 1);
    beat('both', await configure('both', 2));
    expect(await heardAt('both')).not.toBeNull();
  });

  it('is not heard any more over what it agreed with a key that was taken away', async () => {
    await create(`${ORG}/nodes`, 'stolen');
    const [first = ''] = await fingerprints(`${ORG}/nodes/stolen`);
    await addKey(`${ORG}/nodes/stolen`, 2);
    const session = await configure('stolen', 1);
    expect((await api.delete(`${ORG}/nodes/stolen/keys/${first}`)).status).toBe(204);
    beat('stolen', session);
    expect(await heardAt('stolen')).toBeNull();
  });

  it('is not heard any more over what it agreed with a key that has expired', async () => {
    const { publicKey } = madeKey(1);
    await api.post(`${ORG}/nodes`, { name: 'ended', public_key: publicKey, key_ttl: 60 });
    const session = await configure('ended', 1);
    beat('ended', session);
    const heard = await heardAt('ended');
    clock.advance(60_000);
    beat('ended', session);
    expect([heard, await heardAt('ended')]).toEqual([expect.any(String), heard]);
  });

  it('keeps its connection when another one is removed, and loses it with the key it was made with', async () => {
    await create(`${ORG}/nodes`, 'cut');
    const [first = ''] = await fingerprints(`${ORG}/nodes/cut`);
    const other = await addKey(`${ORG}/nodes/cut`, 2);
    beat('cut', await configure('cut', 1));
    const cut = () => transport.hungUp.filter((identity) => identity === Buffer.from('cut').toString('hex')).length;
    await api.delete(`${ORG}/nodes/cut/keys/${other}`);
    const kept = cut();
    await addKey(`${ORG}/nodes/cut`, 3);
    await api.delete(`${ORG}/nodes/cut/keys/${first}`);
    expect([kept, cut()]).toEqual([0, 1]);
  });

  it('loses it when that key expires, though it says nothing', async () => {
    const { publicKey } = madeKey(1);
    await api.post(`${ORG}/nodes`, { name: 'silent', public_key: publicKey, key_ttl: 60 });
    beat('silent', await configure('silent', 1));
    clock.advance(120_000);
    expect(transport.hungUp).toContain(Buffer.from('silent').toString('hex'));
  });
});
