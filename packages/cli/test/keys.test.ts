import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

test.each([
  ['user', '/users/u'],
  ['node', '/organizations/o/nodes/u'],
  ['service', '/organizations/o/services/u'],
])('%s keys lists fingerprints, %s rm-key takes one away', async (kind, path) => {
  server = await apiServer({
    [`GET ${path}/keys`]: json([{ fingerprint: 'f1', created_at: '2026-01-01T00:00:00Z', public_key: 'PEM' }]),
    [`DELETE ${path}/keys/f1`]: (_, response) => response.writeHead(204).end(),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run([kind, 'keys', 'u'], world)).toBe(0);
  expect(await run([kind, 'rm-key', 'u', 'f1'], world)).toBe(0);
  expect(world.out()).toContain('f1');
  expect(world.out()).toContain('removed key f1 from u');
});
