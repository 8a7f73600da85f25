import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

test('rm forgets a node whose key is gone already', async () => {
  server = await apiServer({
    'GET /organizations/o/ssh-nodes/box3': json({ node_name: 'box3', key_secret: 'ssh-node.box3' }),
    'DELETE /organizations/o/ssh-nodes/box3': (_, response) => response.writeHead(204).end(),
    'DELETE /organizations/o/secrets/ssh-node.box3': (_, response) => {
      response.writeHead(404, { 'content-type': 'application/json', 'x-muster-error': 'not_found' });
      response.end(JSON.stringify({ error: "secret 'ssh-node.box3' does not exist" }));
    },
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['ssh-node', 'rm', 'box3', '--yes'], world), world.err()).toBe(0);
  expect(world.out()).toBe('deleted node box3\n');
});
