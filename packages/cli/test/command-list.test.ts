import { expect, onTestFinished, test } from 'vitest';
import { run } from '../src/run.js';
import { apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

test('command list says why nodes may not tell what they allow, whether they have an agent or not', async () => {
  const server = await apiServer({
    'GET /organizations/o/pushy/commands': json({
      ...{ commands: [{ name: 'uptime', pattern: null, nodes: 1 }], more: 0 },
      ...{ nodes: 3, told: 1, any: 0 },
    }),
  });
  onTestFinished(() => server.close());
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['command', 'list', 'via:ssh'], world), world.err()).toBe(0);
  const said = world.out() + world.err();
  expect(said).toContain('of 3 nodes 1 tells what it allows');
  expect(said).toContain(
    '2 do not tell (not connected yet, or tell_commands in agent.yaml or in the policy of an ssh node)',
  );
});

test.each([
  [1, 0, 'the one node does not tell what it allows (not connected'],
  [1, 1, 'the one node tells what it allows\n'],
  [3, 0, 'none of 3 nodes tells what it allows (not connected'],
  [3, 3, 'all 3 nodes tell what they allow\n'],
])('of %i nodes %i tell what they allow: %s', async (nodes, told, said) => {
  const server = await apiServer({
    'GET /organizations/o/pushy/commands': json({ commands: [], more: 0, nodes, told, any: 0 }),
  });
  onTestFinished(() => server.close());
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['command', 'list'], world), world.err()).toBe(0);
  expect(world.err()).toContain(said);
  expect(world.err().trimEnd().split('\n')).toHaveLength(1);
});
