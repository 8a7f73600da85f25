import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

const rule = (name: string, runbook: string | null) => ({ name, runbook: runbook === null ? null : { name: runbook } });

async function removed(rules: ReturnType<typeof json>) {
  server = await apiServer({
    'GET /organizations/o/rules': rules,
    'DELETE /organizations/o/runbooks/clean': (_, response) => response.writeHead(204).end(),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['runbook', 'rm', 'clean', '--yes'], world), world.err()).toBe(0);
  expect(world.out()).toBe('deleted runbook clean\n');
  return world.err();
}

test.each([
  [
    [rule('disk-full', 'clean'), rule('nightly', 'other'), rule('tasks', null)],
    'rule disk-full starts it, and fails from now on',
  ],
  [[rule('one', 'clean'), rule('two', 'clean')], 'rules one, two start it, and fail from now on'],
])('runbook rm says which rules start it: %j', async (rules, told) => {
  expect(await removed(json(rules))).toContain(told);
});

test.each([
  ['no rule starts it', json([rule('nightly', 'other')])],
  ['rules may not be seen', json({ error: 'no right' }, 403)],
])('and nothing where %s', async (_, rules) => expect(await removed(rules)).toBe(''));
