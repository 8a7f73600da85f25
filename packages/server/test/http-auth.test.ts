import { constants, createHash, createPrivateKey, privateEncrypt } from 'node:crypto';
import { signRequest } from '@muster/signing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Personas, sharedKey } from '../../platform/test/support/personas.js';
import { type Reply, reply } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Acceptance cases AUTH-1 to AUTH-23 of sheet §9.2, on every route it names. */

let server: TestServer;
let personas: Personas;
let jobId: string;

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
  const started = await server.api.post(JOBS, { command: 'sleep 1', nodes: ['DONKEY'] });
  jobId = (started.body as { id: string }).id;
});
afterAll(() => server.stop());

const ORG = '/organizations/default/pushy';
const JOBS = `${ORG}/jobs`;
const CCPK = '1234567890123456789012345678901234567890';

interface Target {
  readonly method: 'GET' | 'POST';
  /** With the query, which is not signed. */
  readonly url: string;
  readonly body: string;
  readonly ok: number;
}

const TARGETS: Readonly<Record<string, () => Target>> = {
  'GET config/NODE': () => ({ method: 'GET', url: `${ORG}/config/DONKEY?ccpk=${CCPK}`, body: '', ok: 200 }),
  'POST jobs': () => ({
    method: 'POST',
    url: JOBS,
    body: JSON.stringify({ command: 'sleep 1', nodes: ['DONKEY'] }),
    ok: 201,
  }),
  'GET jobs/ID': () => ({ method: 'GET', url: `${JOBS}/${jobId}`, body: '', ok: 200 }),
  'GET node_states': () => ({ method: 'GET', url: `${ORG}/node_states`, body: '', ok: 200 }),
  'GET node_states/NODE': () => ({ method: 'GET', url: `${ORG}/node_states/member-client`, body: '', ok: 200 }),
};

type HeaderSet = Record<string, string>;

const sha1 = (text: string) => createHash('sha1').update(text).digest('base64');

/** `2012-09-16T00:00:00Z` */
function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

interface Signing {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly userId?: string;
  readonly timestamp?: number;
  readonly version?: '1.0' | '1.1' | '1.3';
}

function sign(target: Target, persona: { name: string; privateKey: string }, change: Signing = {}): HeaderSet {
  return {
    ...signRequest({
      method: target.method,
      path: target.url.split('?', 1)[0] ?? '',
      body: target.body,
      userId: persona.name,
      timestamp: Date.now(),
      privateKey: persona.privateKey,
      version: '1.0',
      ...change,
    }),
    'X-Ops-Sign': change.version === '1.3' ? 'algorithm=sha256;version=1.3' : 'version=1.0',
  };
}

/** Signs a text that is not the canonical one, as version 1.0 does. */
function withSignatureOver(headers: HeaderSet, text: string): HeaderSet {
  const key = createPrivateKey(personas.admin.privateKey);
  const padding = constants.RSA_PKCS1_PADDING;
  const signature = privateEncrypt({ key, padding }, Buffer.from(text)).toString('base64');
  const changed = withoutSignature(headers);
  for (let n = 0; n * 60 < signature.length; n++) {
    changed[`X-Ops-Authorization-${n + 1}`] = signature.slice(n * 60, (n + 1) * 60);
  }
  return changed;
}

function withoutSignature(headers: HeaderSet): HeaderSet {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('X-Ops-Authorization')));
}

function without(headers: HeaderSet, name: string): HeaderSet {
  const { [name]: _, ...rest } = headers;
  return rest;
}

/** The canonical text of version 1.0 with another content hash. */
function canonical(target: Target, contentHash: string, timestamp: string): string {
  return [
    `Method:${target.method}`,
    `Hashed Path:${sha1(target.url.split('?', 1)[0] ?? '')}`,
    `X-Ops-Content-Hash:${contentHash}`,
    `X-Ops-Timestamp:${timestamp}`,
    `X-Ops-UserId:${personas.admin.name}`,
  ].join('\n');
}

function withContentHash(target: Target, contentHash: string): HeaderSet {
  const headers = sign(target, personas.admin);
  const text = canonical(target, contentHash, headers['X-Ops-Timestamp'] ?? '');
  return { ...withSignatureOver(headers, text), 'X-Ops-Content-Hash': contentHash };
}

async function send(target: Target, headers: HeaderSet): Promise<Reply> {
  return reply(
    await fetch(server.url + target.url, {
      method: target.method,
      headers: { ...headers, ...(target.body === '' ? {} : { 'content-type': 'application/json' }) },
      ...(target.body === '' ? {} : { body: target.body }),
    }),
  );
}

type Case = readonly [name: string, change: (target: Target) => HeaderSet, expected: number | 'ok'];

const admin = (target: Target, change: Signing = {}) => sign(target, personas.admin, change);

const CASES: readonly Case[] = [
  ['AUTH-1 version 1.3', (target) => admin(target, { version: '1.3' }), 'ok'],
  ['AUTH-2 version 1.0', (target) => admin(target), 'ok'],
  ['AUTH-3 X-Ops-Sign missing', (target) => without(admin(target), 'X-Ops-Sign'), 400],
  ['AUTH-3 X-Ops-Sign empty', (target) => ({ ...admin(target), 'X-Ops-Sign': '' }), 400],
  ['AUTH-3 X-Ops-Sign of an unknown version', (target) => ({ ...admin(target), 'X-Ops-Sign': 'version=8.1' }), 400],
  ['AUTH-4 X-Ops-Userid missing', (target) => without(admin(target), 'X-Ops-UserId'), 400],
  ['AUTH-4 X-Ops-Userid empty', (target) => ({ ...admin(target), 'X-Ops-UserId': '' }), 400],
  ['AUTH-5 an unknown principal', (target) => sign(target, personas.invalid), 401],
  ['AUTH-6 another user id after signing', (target) => ({ ...admin(target), 'X-Ops-UserId': 'normal-user' }), 401],
  ['AUTH-7 a user id of 2000 characters', (target) => ({ ...admin(target), 'X-Ops-UserId': 'x'.repeat(2000) }), 401],
  ['AUTH-8 X-Ops-Timestamp missing', (target) => without(admin(target), 'X-Ops-Timestamp'), 400],
  ['AUTH-8 X-Ops-Timestamp empty', (target) => ({ ...admin(target), 'X-Ops-Timestamp': '' }), 400],
  ['AUTH-9 timestamp xxx', (target) => ({ ...admin(target), 'X-Ops-Timestamp': 'xxx' }), 401],
  ['AUTH-10 timestamp one hour old', (target) => admin(target, { timestamp: Date.now() - 3_600_000 }), 401],
  ['AUTH-10 timestamp one hour ahead', (target) => admin(target, { timestamp: Date.now() + 3_600_000 }), 401],
  ['AUTH-11 timestamp 30 s old', (target) => admin(target, { timestamp: Date.now() - 30_000 }), 'ok'],
  [
    'AUTH-12 timestamp changed after signing',
    (target) => ({ ...admin(target), 'X-Ops-Timestamp': stamp(Date.now() - 60_000) }),
    401,
  ],
  ['AUTH-13 X-Ops-Content-Hash missing', (target) => without(admin(target), 'X-Ops-Content-Hash'), 400],
  ['AUTH-13 X-Ops-Content-Hash empty', (target) => ({ ...admin(target), 'X-Ops-Content-Hash': '' }), 400],
  ['AUTH-14 content hash xxx, signed so', (target) => withContentHash(target, 'xxx'), 401],
  ['AUTH-15 content hash of another body, signed so', (target) => withContentHash(target, sha1('other')), 401],
  [
    'AUTH-16 content hash changed after signing',
    (target) => ({ ...admin(target), 'X-Ops-Content-Hash': sha1('x') }),
    401,
  ],
  ['AUTH-17 no signature headers', (target) => withoutSignature(admin(target)), 401],
  ['AUTH-17 signature xxx', (target) => ({ ...withoutSignature(admin(target)), 'X-Ops-Authorization-1': 'xxx' }), 401],
  [
    'AUTH-17 an empty signature',
    (target) => ({ ...withoutSignature(admin(target)), 'X-Ops-Authorization-1': '' }),
    401,
  ],
  ['AUTH-18 the first signature line removed', (target) => without(admin(target), 'X-Ops-Authorization-1'), 401],
  ['AUTH-18 a middle signature line removed', (target) => without(admin(target), 'X-Ops-Authorization-3'), 401],
  ['AUTH-18 the last signature line removed', (target) => without(admin(target), 'X-Ops-Authorization-6'), 401],
  ['AUTH-19 another method in the signature', (target) => admin(target, { method: 'PUT' }), 401],
  ['AUTH-20 another path in the signature', (target) => admin(target, { path: `${ORG}/other` }), 401],
  ['AUTH-21 a signature over the empty string', (target) => withSignatureOver(admin(target), ''), 401],
  ['AUTH-21 a signature over XXX', (target) => withSignatureOver(admin(target), 'XXX'), 401],
  ["AUTH-22 the signature of another body's request", (target) => admin(target, { body: '{"other":1}' }), 401],
  [
    'AUTH-23 ordinary client library signing',
    (target) => {
      const { name: userId, privateKey } = personas.admin;
      const path = target.url.split('?', 1)[0] ?? '';
      const request = { method: target.method, path, body: target.body, userId, privateKey };
      return signRequest({ ...request, timestamp: Date.now(), version: '1.1', serverApiVersion: 2 });
    },
    'ok',
  ],
];

describe.each(Object.entries(TARGETS))('%s', (_route, makeTarget) => {
  it.each(CASES)('%s', async (_name, change, expected) => {
    const target = makeTarget();
    const answer = await send(target, change(target));
    expect(answer.status, answer.text).toBe(expected === 'ok' ? target.ok : expected);
  });
});

describe('the answers of sheet §1.5', () => {
  const target = () => ({ method: 'GET', url: `${ORG}/node_states`, body: '', ok: 200 }) as const;
  const challenge = 'X-Ops-Sign version="1.0" version="1.1"';

  it('row 1 names every missing header, in its order', async () => {
    const answer = await send(target(), { 'X-Ops-Timestamp': stamp(Date.now()) });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: ["missing required authentication header(s) 'X-Ops-UserId', 'X-Ops-Sign', 'X-Ops-Content-Hash'"],
    });
  });

  it('row 2 names the timestamp header, without a challenge', async () => {
    const offset = stamp(Date.now()).replace('Z', '+00:00');
    const answer = await send(target(), { ...admin(target()), 'X-Ops-Timestamp': offset });
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({ error: ["bad header(s) 'X-Ops-Timestamp'"] });
    expect(answer.headers.get('www-authenticate')).toBeNull();
  });

  it('row 3 asks to synchronize the clock, without a challenge', async () => {
    const answer = await send(target(), admin(target(), { timestamp: Date.now() - 901_000 }));
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      error: ['Failed to authenticate as admin. Synchronize the clock on your host.'],
    });
    expect(answer.headers.get('www-authenticate')).toBeNull();
  });

  it('row 4 refuses the version', async () => {
    const answer = await send(target(), { ...admin(target()), 'X-Ops-Sign': 'algorithm=sha256;version=1.0' });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: ['Unsupported authentication protocol version'] });
  });

  it('row 5 says the limit, as a string', async () => {
    const answer = await server.api.post(JOBS, { command: 'x'.repeat(1_000_001), nodes: ['DONKEY'] });
    expect(answer.status).toBe(413);
    expect(answer.body).toEqual({ error: 'JSON must be no more than 1000000 bytes.' });
  });

  it('row 6 names the organization to who has signed for a name', async () => {
    const answer = await server.api.get('/organizations/nowhere/pushy/node_states');
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ error: ["organization 'nowhere' does not exist."] });
  });

  it('row 7 names the principal and the schemes', async () => {
    const answer = await send(target(), sign(target(), personas.invalid));
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      error: ["Failed to authenticate as 'invalid'. Ensure that your node_name and client key are correct."],
    });
    expect(answer.headers.get('www-authenticate')).toBe(challenge);
  });

  it('row 8 names principal and organization', async () => {
    const answer = await send(target(), sign(target(), personas.outside));
    expect(answer.status).toBe(403);
    expect(answer.body).toEqual({ error: ["'outside-user' is not associated with organization 'default'"] });
  });

  it('row 10 says the same as row 7', async () => {
    const answer = await send(target(), sign(target(), personas.bogusClient));
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      error: ["Failed to authenticate as 'member-client'. Ensure that your node_name and client key are correct."],
    });
    expect(answer.headers.get('www-authenticate')).toBe(challenge);
  });

  it('errors carry their code and what to do in headers', async () => {
    const answer = await send(target(), sign(target(), personas.invalid));
    expect(answer.headers.get('x-muster-error')).toBe('unknown_principal');
    expect(answer.headers.get('x-muster-fix')).toContain('private key');
  });
});

describe('several keys', () => {
  it('a user and a client of the same name are both tried, and the key decides who it is', async () => {
    const name = 'twin';
    await server.api.post('/users', { name, public_key: sharedKey().publicKey, organization: 'default' });
    const other = personas.bogusClient.privateKey;
    const { publicKey } = await import('node:crypto').then(({ createPublicKey }) => ({
      publicKey: createPublicKey(other).export({ type: 'spki', format: 'pem' }).toString(),
    }));
    await server.api.post('/organizations/default/nodes', { name, public_key: publicKey });
    const path = `${ORG}/config/somebody-else?ccpk=${CCPK}`;
    expect((await server.api.as({ name, privateKey: sharedKey().privateKey }).get(path)).status).toBe(200);
    const asNode = await server.api.as({ name, privateKey: other }).get(path);
    expect(asNode.status).toBe(403);
    expect(asNode.body).toEqual({ error: ['Client and node name must match'] });
  });

  it('any of the keys of a principal signs, until it is deleted', async () => {
    const second = personas.bogusClient.privateKey;
    const { createPublicKey } = await import('node:crypto');
    const pem = createPublicKey(second).export({ type: 'spki', format: 'pem' }).toString();
    const added = await server.api.post('/users/normal-user/keys', { public_key: pem });
    expect(added.status).toBe(201);
    const client = server.api.as({ name: 'normal-user', privateKey: second });
    expect((await client.get(`${ORG}/node_states`)).status).toBe(200);
    const { fingerprint } = added.body as { fingerprint: string };
    expect((await server.api.delete(`/users/normal-user/keys/${fingerprint}`)).status).toBe(204);
    expect((await client.get(`${ORG}/node_states`)).status).toBe(401);
  });
});
