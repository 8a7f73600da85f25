import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** A node that was removed has to enrol again: it is not done by a slip. */

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function remove(argv: readonly string[], { answer }: { readonly answer?: string } = {}) {
  server = await apiServer({
    'DELETE /organizations/o/nodes/web1': (_, response) => response.writeHead(204).end(),
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, terminal: answer !== undefined });
  if (answer !== undefined) world.type(answer);
  const code = await run(['node', 'rm', 'web1', ...argv], world);
  return { code, out: world.out(), err: world.err(), removed: server.received.length === 1 };
}

test('at a terminal it asks, and goes on after a yes', async () => {
  const { code, out, err, removed } = await remove([], { answer: 'y\n' });
  expect(err).toBe('Forget node web1 and its key? Its agent then has to enrol again. [y/N] ');
  expect({ code, out, removed }).toEqual({ code: 0, out: 'deleted node web1\n', removed: true });
});

test.each(['n\n', '\n', 'what\n'])('at a terminal %j is no: nothing is done, and it exits 1', async (answer) => {
  const { code, err, removed } = await remove([], { answer });
  expect(err).toContain('error: nothing was done\n');
  expect({ code, removed }).toEqual({ code: 1, removed: false });
});

test.each([[[]], [['--force']], [['--json']]])('without a terminal it is refused: %j', async (argv) => {
  const { code, err, removed } = await remove(argv);
  expect(err).toContain('error: nobody can be asked here, so give --yes: Forget node web1');
  expect({ code, removed }).toEqual({ code: 2, removed: false });
});

test('--yes does not ask', async () => {
  expect(await remove(['--yes'])).toMatchObject({ code: 0, err: '', removed: true });
});
