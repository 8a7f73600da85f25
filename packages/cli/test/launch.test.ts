import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const JOBS = '/organizations/o/pushy/jobs';
const ID = 'a'.repeat(32);

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function start(argv: readonly string[], matching: number, answer?: string) {
  const nodes = Array.from({ length: matching }, (_, n) => `node${n}`);
  server = await apiServer({
    [`POST ${JOBS}/preview`]: json({ count: matching, nodes, restricted: [] }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`GET ${JOBS}/${ID}`]: json({ id: ID, status: 'voting', nodes: { new: nodes } }),
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, terminal: answer !== undefined });
  if (answer !== undefined) world.type(answer);
  const code = await run(['push', 'start', ...argv, '--detach', '--', 'x'], world);
  const posted = server.received.filter(({ method, path }) => method === 'POST' && path === JOBS);
  return { code, world, started: posted.length === 1 };
}

test('a hundred nodes are started without a question', async () => {
  expect(await start(['role:web'], 100)).toMatchObject({ code: 0, started: true });
});

test('more than a hundred nodes need --yes', async () => {
  const { code, world, started } = await start(['role:web'], 101);
  expect([code, started]).toEqual([2, false]);
  expect(world.err()).toContain('101 nodes; more than 100 need --yes');
});

test('--yes starts any number', async () => {
  expect(await start(['role:web', '--yes'], 101)).toMatchObject({ code: 0, started: true });
});

test('at a terminal the question is asked, and yes starts', async () => {
  const { code, world, started } = await start(['role:web'], 101, 'yes\n');
  expect([code, started]).toEqual([0, true]);
  expect(world.err()).toContain("Run 'x' on 101 nodes?");
});

test('anything but yes starts nothing', async () => {
  expect(await start(['role:web'], 101, '\n')).toMatchObject({ code: 1, started: false });
});

test('--detach says the id and ends; --json prints the job', async () => {
  expect((await start(['role:web'], 2)).world.out()).toBe(`Starting job id ${ID}\n`);
  await server?.close();
  const { world } = await start(['role:web', '--json'], 2);
  expect(JSON.parse(world.out())).toMatchObject({ id: ID, status: 'voting' });
});
