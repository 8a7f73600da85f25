import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** `role=web` compares two attributes; whoever types it means the text. */

let server: ApiServer | undefined;
afterEach(() => server?.close());

const WARNING =
  "warning: role = web compares the attributes 'role' and 'web', and no node has 'web'; for the text write role = 'web' or role:web\n";

/** Nodes have the attributes `role` and `os`; no query finds any. */
const search: Answer = (request, response) => {
  const known = /^(role|os) IS NOT NULL$/.test(request.query.get('q') ?? '');
  json({ total: known ? 3 : 0, nodes: [] })(request, response);
};

async function said(argv: readonly string[], routes: Readonly<Record<string, Answer>> = {}): Promise<string> {
  server = await apiServer({
    'GET /organizations/o/nodes': search,
    'POST /organizations/o/pushy/jobs/preview': json({
      count: 0,
      nodes: [],
      restricted: [],
      refusals: [],
      uncertain: [],
      quorum: { needed: 1, least: 1, most: 1, verdict: 'reachable' },
    }),
    'GET /organizations/o/node_groups': json([]),
    'PUT /organizations/o/node_groups/web': json({
      ...{ name: 'web', execute: { users: [], clients: [], groups: [] } },
      unknown: { users: [], clients: [], groups: [] },
    }),
    ...routes,
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(argv, world), world.err()).toBe(0);
  return world.err();
}

test.each([
  [['node', 'search', 'role=web']],
  [['push', 'start', 'role=web', '--dry-run', '--', 'x']],
  [['node-group', 'create', 'web', '--query', 'role=web']],
])('%j says that no node has such an attribute, and what may have been meant', async (argv) => {
  expect(await said(argv)).toContain(WARNING);
});

test.each(["role = 'web'", 'role:web', 'role = os'])('%s is what it says, and nothing is said', async (query) => {
  expect(await said(['node', 'search', query])).not.toContain('warning');
});

test('who may not search nodes is warned all the same', async () => {
  const refused: Answer = (_, response) => response.writeHead(403, { 'x-muster-error': 'forbidden' }).end('{}');
  const routes = { 'GET /organizations/o/nodes': refused };
  expect(await said(['push', 'start', 'role=web', '--dry-run', '--', 'x'], routes)).toContain(WARNING);
});
