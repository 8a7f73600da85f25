import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normalizePublicKey } from '@muster/signing';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function doctor(store: object) {
  server = await apiServer({
    'GET /_status': json({ status: "it's alive", ...store }),
    'GET /organizations/o/pushy/node_states': json([]),
    'POST /organizations/o/pushy/jobs/preview': json({
      count: 0,
      nodes: [],
      restricted: [],
      refusals: [],
      uncertain: [],
    }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  const code = await run(['doctor'], world);
  return { code, out: world.out() };
}

test('a server whose database stores nothing is not well, whatever else it answers', async () => {
  const { code, out } = await doctor({ store: { ok: false } });
  expect(code).toBe(1);
  expect(out).toMatch(/^failed +database: stores nothing now, .+ check the space on the disk of data_dir/m);
  expect(out).toMatch(/^ok +nodes: 0 of 0 available$/m);
});

test('a server whose database is damaged is not well, and a backup is needed', async () => {
  const { code, out } = await doctor({ store: { ok: false, problem: 'damaged' } });
  expect(code).toBe(1);
  expect(out).toMatch(/^failed +database: the file muster.db is damaged, .+ put a backup in the place of the file/m);
});

test.each([{ store: { ok: true } }, {}])('with %j in its status it is well', async (store) => {
  const { code, out } = await doctor(store);
  expect(code).toBe(0);
  expect(out).toMatch(/^ok +database: stores what it is given$/m);
});

test('who may not look at nodes hears the rest all the same', async () => {
  server = await apiServer({
    'GET /_status': json({ status: "it's alive" }),
    'GET /organizations/o/pushy/node_states': (_, response) => response.writeHead(403).end('{"error": ["no"]}'),
    'POST /organizations/o/pushy/jobs/preview': json({ count: 0, nodes: [], restricted: [] }),
    'GET /organizations/o/keys': json({ total: 0, keys: [] }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['doctor'], world)).toBe(1);
  expect(world.out()).toMatch(/^failed +may read: no/m);
  expect(world.out()).toMatch(/^ok +may start: jobs$/m);
  expect(world.out()).toMatch(/^ok +keys: /m);
  expect(world.out()).not.toMatch(/^\w+ +nodes?:? /m);
});

describe('what ends soon', () => {
  // The server's clock is compared with it, too.
  const NOW = Date.now();
  const inDays = (days: number) => new Date(NOW + days * 86_400_000).toISOString();
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const { fingerprint } = normalizePublicKey(pair.publicKey);
  const dir = mkdtempSync(join(tmpdir(), 'muster-doctor-'));
  const keyFile = join(dir, 'alice.pem');
  writeFileSync(keyFile, pair.privateKey, { mode: 0o600 });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const forbidden: Answer = (_, response) => response.writeHead(403).end('{"error": ["no"]}');

  async function look(own: string | null, all: Answer, certificates: object[] = []) {
    server = await apiServer({
      'GET /_status': json({ status: "it's alive", store: { ok: true }, certificates }),
      'GET /organizations/o/pushy/node_states': json([]),
      'POST /organizations/o/pushy/jobs/preview': json({ count: 0, nodes: [], restricted: [] }),
      'GET /users/alice/keys': json([{ fingerprint, created_at: inDays(-100), expires_at: own }]),
      'GET /organizations/o/keys': all,
    });
    const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_USER: 'alice', MUSTER_KEY: keyFile };
    const world = testWorld({ env, now: () => NOW });
    const code = await run(['doctor'], world);
    return { code, out: world.out() };
  }

  test('is warned of 30 days ahead: certificates, the own key, and keys of the organization for its admins', async () => {
    const listed = { type: 'node', name: 'web1', fingerprint: 'a'.repeat(64), created_at: inDays(-9) };
    const { code, out } = await look(inDays(30), json({ total: 1, keys: [{ ...listed, expires_at: inDays(2) }] }), [
      { listener: 'http', expires_at: inDays(29) },
      { listener: 'stomp', expires_at: inDays(31) },
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/^warning +certificate of http: expires in 29d 00h, .+ restart the server$/m);
    expect(out).toMatch(/^ok +certificate of stomp: expires in 31d 00h/m);
    expect(out).toMatch(/^warning +your key: expires in 30d 00h, .+ muster user add-key alice /m);
    expect(out).toMatch(
      /^warning +key aaaaaaaaaaaa… of node web1: expires in 2d 00h, .+ muster node add-key web1, rm-key web1$/m,
    );
  });

  test('is no warning when it is further away, and nobody who is no admin is told of keys of others', async () => {
    const { code, out } = await look(null, forbidden);
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +your key: does not expire$/m);
    expect(out).not.toContain('keys:');
  });

  test('a key file that others may read is warned of', async () => {
    expect((await look(null, forbidden)).out).not.toContain('key file');
    chmodSync(keyFile, 0o644);
    const { code, out } = await look(null, forbidden);
    chmodSync(keyFile, 0o600);
    expect(code).toBe(0);
    expect(out).toContain(`key file: ${keyFile} can be read by others (mode 644); run: chmod 600 ${keyFile}`);
    expect(out).toMatch(/^warning +key file/m);
  });

  test('a certificate that has expired makes it fail', async () => {
    const { code, out } = await look(null, forbidden, [{ listener: 'stomp', expires_at: inDays(-1) }]);
    expect(code).toBe(1);
    expect(out).toMatch(/^failed +certificate of stomp: expired at /m);
  });
});
