import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** `push_job_writer` is nearly a role, and as a group would give nobody anything. */

let server: ApiServer | undefined;
afterEach(() => server?.close());

const QUESTION = "no role is called 'push_job_writer': did you mean 'push_job_writers'?";
const refused: Answer = (_, response) => {
  const headers = { 'x-muster-error': 'group_name_unlikely', 'x-muster-fix': 'Send force=true.' };
  response.writeHead(400, headers).end(JSON.stringify({ error: QUESTION }));
};
const stored = { name: 'push_job_writer', users: ['alice'], clients: [], groups: [] };
const unknown = { users: [], clients: [], groups: [] };

async function create(argv: readonly string[], { answer }: { readonly answer?: string } = {}) {
  server = await apiServer({
    'GET /organizations/o/groups': json([]),
    'PUT /organizations/o/groups/push_job_writer': (request, response) =>
      request.query.get('force') === 'true'
        ? json({ ...stored, unknown })(request, response)
        : refused(request, response),
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, terminal: answer !== undefined });
  if (answer !== undefined) world.type(answer);
  const code = await run(['group', 'create', 'push_job_writer', '--user', 'alice', ...argv], world);
  return { code, out: world.out(), err: world.err() };
}

test('is refused where nobody can be asked, with what to type', async () => {
  const { code, err } = await create([]);
  expect(err).toContain(`error: ${QUESTION}\nfix: Use the name of the role.`);
  expect(err).toContain('muster group create NAME --force');
  expect(code).toBe(2);
});

test('is created with --force', async () => {
  expect(await create(['--force'])).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('push_job_writer'),
  });
});

test.each([
  ['y\n', 0],
  ['\n', 1],
])('is asked about at a terminal: %j exits %d', async (answer, code) => {
  const asked = await create([], { answer });
  expect(asked.err).toContain(`${QUESTION} Create 'push_job_writer' all the same? [y/N] `);
  expect(asked.code).toBe(code);
});

test('of a new user it is refused, and no key is left behind', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'muster-user-'));
  server = await apiServer({ 'GET /organizations/o/groups': json([]), 'POST /users': refused });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd });
  const argv = ['user', 'create', 'alice', '--group', 'push_job_writer', '--key-out', 'alice.pem'];
  expect(await run(argv, world)).toBe(2);
  expect(world.err()).toContain('muster group create NAME --force');
  expect(readdirSync(cwd)).toEqual([]);
  rmSync(cwd, { recursive: true });
});
