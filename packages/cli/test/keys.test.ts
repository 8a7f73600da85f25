import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json, type Received } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** Where a file is that can be sent in the place of a key. */
const HERE = import.meta.dirname;
let server: ApiServer | undefined;
afterEach(() => server?.close());

test.each([
  ['user', '/users/u'],
  ['node', '/organizations/o/nodes/u'],
  ['service', '/organizations/o/services/u'],
])('%s keys lists fingerprints, %s rm-key takes one away', async (kind, path) => {
  server = await apiServer({
    [`GET ${path}/keys`]: json([
      { fingerprint: 'f1', created_at: '2026-01-01T00:00:00Z', expires_at: null, public_key: 'PEM' },
    ]),
    [`DELETE ${path}/keys/f1`]: (_, response) => response.writeHead(204).end(),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run([kind, 'keys', 'u'], world)).toBe(0);
  expect(await run([kind, 'rm-key', 'u', 'f1'], world)).toBe(0);
  expect(world.out()).toContain('f1');
  expect(world.out()).toContain('removed key f1 from u');
});

test.each([
  ['user', '/users/u'],
  ['node', '/organizations/o/nodes/u'],
  ['service', '/organizations/o/services/u'],
])('%s add-key --expires says until when', async (kind, path) => {
  server = await apiServer({
    [`POST ${path}/keys`]: json({ fingerprint: 'f2', created_at: '2026-01-01', expires_at: '2026-04-01T00:00:00Z' }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd: HERE });
  expect(await run([kind, 'add-key', 'u', '--public-key', 'keys.test.ts', '--expires', '90d'], world)).toBe(0);
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({ ttl: 90 * 86_400 });
  expect(world.out()).toMatch(/^added key f2 to u, until 2026-0[34]-/);
});

test('key list --all goes from page to page', async () => {
  const listed = (n: number) => ({
    type: 'node',
    name: `n${n}`,
    fingerprint: `f${n}`,
    created_at: '',
    expires_at: null,
  });
  server = await apiServer({
    'GET /organizations/o/keys': ({ query }, response) =>
      json({ total: 3, keys: query.get('offset') === '0' ? [listed(1), listed(2)] : [listed(3)] })(
        { query } as Received,
        response,
      ),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['key', 'list', '--all', '--expires-within', '30d'], world)).toBe(0);
  expect(server.received.map(({ query }) => [query.get('expires_within'), query.get('offset')])).toEqual([
    ['2592000', '0'],
    ['2592000', '2'],
  ]);
  expect(world.out()).toMatch(/node n1 .*\n.*node n2 .*\n.*node n3 .* never/);
});

test('key list does not guess whose keys a token means', async () => {
  server = await apiServer({});
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['key', 'list'], world)).toBe(2);
  expect(world.err()).toContain('muster user keys NAME');
});
