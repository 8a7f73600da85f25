import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** What the commands of organizations and groups say to who does it for the first time. */

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function muster(argv: readonly string[], routes: Readonly<Record<string, Answer>> = {}) {
  server = await apiServer(routes);
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  const code = await run(argv, world);
  return { code, out: world.out(), err: world.err(), received: server.received };
}

test('a new organization says how it gets its first admin', async () => {
  const { code, err } = await muster(['org', 'create', 'staging'], {
    'POST /organizations': json({ name: 'staging' }, 201),
  });
  expect(code).toBe(0);
  expect(err).toContain('MUSTER_ORG=staging muster user create NAME --group admins --key-out FILE');
});

test('an organization is not deleted by a slip', async () => {
  const refused = await muster(['org', 'rm', 'staging']);
  expect(refused).toMatchObject({ code: 2, received: [] });
  expect(refused.err).toContain('give --yes: Delete organization staging with its groups, tokens and jobs?');
});

test('who adds to a role that has no members yet is told how to make its group', async () => {
  const missing: Answer = (_, response) => {
    response.writeHead(404, { 'x-muster-error': 'not_found' });
    response.end(JSON.stringify({ error: 'no' }));
  };
  const { code, err } = await muster(['group', 'add', 'push_job_writers', '--user', 'alice'], {
    'GET /organizations/o/groups/push_job_writers': missing,
  });
  expect(code).toBe(4);
  expect(err).toContain('make it with its first members: muster group create push_job_writers --user NAME');
});

test('the first grant on a node group says whom it shuts out', async () => {
  const group = { name: 'web', query: 'role:web', execute: { users: [], clients: [], groups: [] } };
  const path = '/organizations/o/node_groups/web';
  const { code, out, err } = await muster(['node-group', 'grant', 'web', '--group', 'oncall'], {
    [`GET ${path}`]: json(group),
    [`PUT ${path}`]: json({
      ...group,
      execute: { ...group.execute, groups: ['oncall'] },
      unknown: { users: [], clients: [], groups: ['oncall'] },
    }),
  });
  expect(code, err).toBe(0);
  expect(out).toContain('Run by      group oncall\n');
  expect(err).toBe(
    "warning: there is no group 'oncall' in this organization yet\n" +
      'note: from now on nobody else runs commands on its nodes, admins neither\n',
  );
});
