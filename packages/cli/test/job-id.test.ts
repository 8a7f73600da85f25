import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** Jobs named by the beginning of their id. */

const JOBS = '/organizations/o/pushy/jobs';
const ID = `72c189ef191c3f2a${'0'.repeat(16)}`;
const JOB = {
  id: ID,
  status: 'complete',
  command: 'chef-client',
  nodes: {},
  created_at: 'Sun, 16 Sep 2012 12:00:00 GMT',
};

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function push(argv: readonly string[], found: readonly object[] = [JOB], digits = '3f2a') {
  server = await apiServer({
    [`GET ${JOBS}/lookup/${digits}`]: json(found),
    [`GET ${JOBS}/${ID}`]: json(JOB),
    [`GET ${JOBS}/${ID}/nodes`]: json([]),
    [`PUT ${JOBS}/${ID}/abort`]: json(JOB),
    [`POST ${JOBS}/preview`]: json({ count: 1, nodes: ['n'], restricted: [] }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  const code = await run(['push', ...argv], world);
  return { code, world, received: server.received };
}

test.each([
  [['status', '3f2a'], `${JOBS}/${ID}`],
  [['watch', '3f2a'], `${JOBS}/${ID}`],
  [['abort', '3f2a'], `${JOBS}/${ID}/abort`],
  [['output', '3f2a'], `${JOBS}/${ID}/nodes`],
  [['rerun', '3f2a', '--failed', '--detach'], `${JOBS}/${ID}`],
  [['start', '--rerun', '3f2a', '--failed', '--detach'], `${JOBS}/${ID}`],
])('%j looks the id up once, and goes on with the whole of it', async (argv, path) => {
  const { code, world, received } = await push(argv);
  expect(code, world.err()).toBe(0);
  const paths = received.map((request) => request.path);
  expect(paths.filter((asked) => asked.includes('lookup'))).toHaveLength(1);
  expect(paths).toContain(path);
});

test.each([
  ['rerun', ['rerun', '3f2a', '--failed', '--detach']],
  ['start --from-job', ['start', '--from-job', '3f2a', '--job-status', 'failed', '--detach', '--', 'x']],
])('%s hands over the whole id', async (_, argv) => {
  const { code, world, received } = await push(argv);
  expect(code, world.err()).toBe(0);
  const started = received.find(({ method, path }) => method === 'POST' && path === JOBS);
  expect(JSON.parse(started?.body ?? 'null')).toMatchObject({ from_job: { id: ID } });
});

test('a whole id is not looked up', async () => {
  const { code, received } = await push(['status', ID]);
  expect(code).toBe(0);
  expect(received.map(({ path }) => path).filter((path) => path.includes('lookup'))).toEqual([]);
});

test('abort hands over the digits when jobs may not be looked up: the server knows which may be meant', async () => {
  server = await apiServer({
    [`GET ${JOBS}/lookup/3f2a`]: json({ error: ['no'] }, 403),
    [`PUT ${JOBS}/3f2a/abort`]: json({ ...JOB, status: 'running' }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'abort', '3f2a'], world), world.err()).toBe(0);
  expect(world.out()).toBe(`Aborting job ${ID}\n`);
});

describe('to continue a job', () => {
  const goOn = async (routes: Parameters<typeof apiServer>[0]) => {
    server = await apiServer({ ...routes, [`PUT ${JOBS}/3f2a/continue`]: json({ id: ID, status: 'running' }) });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    return { code: await run(['push', 'continue', '3f2a'], world), world, received: server.received };
  };

  test('nobody need look at it', async () => {
    const forbidden = json({ error: ['no'] }, 403);
    const { code, world, received } = await goOn({
      [`GET ${JOBS}/lookup/3f2a`]: forbidden,
      [`GET ${JOBS}/3f2a`]: forbidden,
    });
    expect(code, world.err()).toBe(0);
    expect(world.out()).toBe(`Continuing job ${ID}\n`);
    expect([...(received.at(-1)?.query ?? [])]).toEqual([]);
  });

  test('nor find it among those that they started', async () => {
    const { code, world } = await goOn({
      [`GET ${JOBS}/lookup/3f2a`]: json([]),
      [`GET ${JOBS}/3f2a`]: json({ error: ['no'] }, 403),
    });
    expect(code, world.err()).toBe(0);
  });

  test('who looks at it says which hold was seen', async () => {
    server = await apiServer({
      [`GET ${JOBS}/${ID}`]: (request, response) => {
        const batch = { number: 2, left: 1, hold: 'confirm', until: null, excused: 1 };
        json(request.query.get('detail') === 'true' ? { ...JOB, batch } : JOB)(request, response);
      },
      [`PUT ${JOBS}/${ID}/continue`]: json(JOB),
    });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect(await run(['push', 'continue', ID], world), world.err()).toBe(0);
    expect(Object.fromEntries(server.received.at(-1)?.query ?? [])).toEqual({ batch: '2', excused: '1' });
  });
});

test('fewer than four digits are not asked for', async () => {
  const { code, world, received } = await push(['status', '3f2']);
  expect([code, received]).toEqual([2, []]);
  expect(world.err()).toContain("'3f2' is too short: type at least 4 digits of the id");
});

test('digits that no id begins with are not found', async () => {
  const { code, world } = await push(['status', '3f2a'], []);
  expect([code, world.err()]).toEqual([
    4,
    "error: job '3f2a' does not exist\nfix: List what exists and check the id: `muster push list`.\n",
  ]);
});

test('of digits that several ids begin with the jobs are shown, and nothing is done', async () => {
  const another = { ...JOB, id: ID.replace(/0$/, '1'), command: `\u001b[2J${'x'.repeat(100)}` };
  const { code, world, received } = await push(['abort', '3f2a'], [JOB, another]);
  expect(code).toBe(2);
  const [first, one, two, ...rest] = world.err().split('\n');
  expect(first).toBe("error: '3f2a' could be any of these jobs:");
  expect(one).toMatch(new RegExp(`^  ${ID}  2012-09-1\\d \\d\\d:\\d\\d:\\d\\d  chef-client$`));
  expect(two).toMatch(new RegExp(`^  ${another.id}  2012-09-1\\d \\d\\d:\\d\\d:\\d\\d  \\\\x1b\\[2Jx+…$`));
  expect(rest.join()).toMatch(/^fix: Type more digits/);
  expect(received.map(({ method }) => method)).toEqual(['GET']);
});

test('at most five jobs are shown', async () => {
  const found = Array.from({ length: 6 }, (_, index) => ({ ...JOB, id: ID.replace(/0$/, String(index)) }));
  expect((await push(['status', '3f2a'], found.slice(0, 5))).world.err()).not.toContain('and more');
  await server?.close();
  const shown = (await push(['status', '3f2a'], found)).world.err();
  expect(shown.match(/chef-client/g)).toHaveLength(5);
  expect(shown).toContain('\n  … and more\n');
});
