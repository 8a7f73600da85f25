import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const JOBS = '/organizations/o/pushy/jobs';
const ID = 'a'.repeat(32);
const ENOUGH = { needed: 1, least: 2, most: 3, verdict: 'reachable' };

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function start(argv: readonly string[], matching: number, answer?: string) {
  const nodes = Array.from({ length: matching }, (_, n) => `node${n}`);
  server = await apiServer({
    [`POST ${JOBS}/preview`]: json({
      count: matching,
      nodes,
      restricted: [],
      refusals: [],
      uncertain: [],
      quorum: ENOUGH,
    }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`GET ${JOBS}/${ID}`]: json({ id: ID, status: 'voting', nodes: { new: nodes } }),
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, terminal: answer !== undefined });
  if (answer !== undefined) world.type(answer);
  const flags = argv.includes('--dry-run') ? argv : [...argv, '--detach'];
  const code = await run(['push', 'start', ...flags, '--', 'x'], world);
  const posted = server.received.filter(({ method, path }) => method === 'POST' && path === JOBS);
  return { code, world, started: posted.length === 1 };
}

test.each([
  [
    [
      { node_name: 'web2', why: 'no_right', reason: 'you may not run commands there' },
      { node_name: 'web3', why: 'busy', reason: 'busy with job 4f' },
    ],
    '0 nodes would run it, 1 perhaps, 2 would not:',
    '  web2  no: permission denied, you may not run commands there\n',
  ],
  [[], '2 nodes would run it, 1 perhaps:', '  web2  yes\n'],
])('a dry run tells who would refuse, and why: %j', async (refusals, counts, line) => {
  const nodes = ['web1', 'web2', 'web3'];
  const doubts = [{ node_name: 'web1', reason: 'what is allowed there is not told' }];
  server = await apiServer({
    [`POST ${JOBS}/preview`]: json({
      count: 3,
      nodes,
      restricted: [],
      refusals,
      uncertain: ['web1'],
      doubts,
      quorum: ENOUGH,
    }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'start', 'role:web', '--dry-run', '--', 'x'], world)).toBe(0);
  expect(world.out().split('\n')[0]).toBe(counts);
  expect(world.out()).toContain(line);
  expect(world.out()).toContain('  web1  perhaps: what is allowed there is not told\n');
  expect(world.out()).toContain('Quorum: whoever is available (at least one), 2 to 3 would be\n');
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    search: 'role:web',
    command: 'x',
    quorum: 'default',
    capture_output: true,
  });
});

test.each([
  [[], 0, 'Quorum: 2 of 2 must be ready, 0 would be: it would start nowhere\n', ''],
  [
    ['--quorum', '100%', '--when-busy', 'wait'],
    1,
    'Quorum: 2 of 2 must be ready, 1 would be: it would start nowhere\n',
    '--quorum 1, or --available, needs fewer',
  ],
])('a dry run of a job that would start nowhere says so, and fails: %j', async (flags, most, said, hint) => {
  const quorum = { needed: 2, least: most, most, verdict: 'unreachable' };
  const refusals = [{ node_name: 'web2', why: 'down', reason: 'down' }];
  const answer = { count: 2, nodes: ['web1', 'web2'], restricted: [], refusals, uncertain: [], quorum };
  server = await apiServer({ [`POST ${JOBS}/preview`]: json(answer) });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'start', 'role:web', '--dry-run', ...flags, '--', 'x'], world)).toBe(1);
  expect(world.out()).toContain(said);
  expect(world.err()).toContain(hint);
  const asked = flags.length === 0 ? { quorum: 'default' } : { when_busy: 'wait' };
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject(asked);
});

test('a dry run says of nodes in use that they are waited for, and of others why they would not', async () => {
  const refusals = [
    { node_name: 'web1', why: 'busy', reason: 'busy with job b' },
    { node_name: 'web2', why: 'rehab', reason: 'it came up' },
    { node_name: 'web3', why: 'down', reason: 'down' },
  ];
  const quorum = { needed: 1, least: 0, most: 2, verdict: 'perhaps', waits: true };
  const answer = { count: 3, nodes: ['web1', 'web2', 'web3'], restricted: [], refusals, uncertain: [], quorum };
  server = await apiServer({ [`POST ${JOBS}/preview`]: json(answer) });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'start', 'role:web', '--dry-run', '--when-busy', 'wait', '--', 'x'], world)).toBe(0);
  expect(world.out().split('\n').slice(0, 4)).toEqual([
    '0 nodes would run it, 2 when free, 1 would not:',
    '  web1  waits: busy with job b',
    '  web2  waits: in rehab, it came up',
    '  web3  no: down',
  ]);
});

test.each([
  ['live', 2],
  ['grouped', 2],
  ['none', 0],
])('--output %s beside --no-capture', async (output, code) => {
  const began = await start(['role:web', '--output', output, '--no-capture'], 1);
  expect([began.code, began.started]).toEqual([code, code === 0]);
  if (code !== 0) expect(began.world.err()).toContain(`--output ${output} shows what --no-capture takes none of`);
});

test('--output beside --detach is refused before anything is started', async () => {
  const began = await start(['role:web', '--output', 'live'], 1);
  expect([began.code, began.started]).toEqual([2, false]);
  expect(began.world.err()).toContain('--output live shows what --detach does not wait for');
});

test('a job without quorum names how many would have been enough', async () => {
  const ended = {
    id: ID,
    command: 'x',
    status: 'quorum_failed',
    nodes: { was_ready: ['web1'], unavailable: ['web2'], nacked: ['web3'] },
  };
  const node = { reason: null, exit_code: null, signal: null, started_at: null, updated_at: '2026-01-01T00:00:00Z' };
  const nodes = [
    { ...node, node_name: 'web1', status: 'was_ready' },
    { ...node, node_name: 'web2', status: 'unavailable', reason: 'down' },
    { ...node, node_name: 'web3', status: 'nacked', reason: 'busy with job 4f' },
  ];
  server = await apiServer({
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`GET ${JOBS}/${ID}`]: json(ended),
    [`GET ${JOBS}/${ID}/nodes`]: json(nodes),
    [`GET /organizations/o/pushy/job_status_feed/${ID}`]: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('id: 1-1\nevent: job_complete\ndata: {"status":"quorum_failed"}\n\n');
    },
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'start', '--node', 'web1', 'web2', 'web3', '--', 'x'], world)).toBe(1);
  expect(world.err()).toContain('--when-busy wait waits until those that are busy are free');
  expect(world.err()).toContain('--quorum 1, or --available, needs fewer');
  // Who did not take part is told once; the table has only what is not told there.
  expect(world.out()).toContain('  not started: web1\n  down: web2\n  busy: web3\n');
  const [, table = ''] = world.out().split('Node name');
  expect(table).toMatch(/^web3 +refused +busy with job 4f /m);
  expect(table).not.toMatch(/web1|web2/);
  const program = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(
    await run(['push', 'start', '--node', 'web1', 'web2', 'web3', '--json', '--', 'x'], program),
    program.err(),
  ).toBe(1);
  expect(JSON.parse(program.out())).toEqual({ ...ended, job_nodes: nodes });
});

test('what permission is missing is told for nodes in groups, and for those in none', async () => {
  const node = {
    status: 'nacked',
    exit_code: null,
    signal: null,
    started_at: null,
    updated_at: '2026-01-01T00:00:00Z',
  };
  server = await apiServer({
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`GET ${JOBS}/${ID}`]: json({ id: ID, command: 'x', status: 'complete', nodes: { nacked: ['web1'] } }),
    [`GET ${JOBS}/${ID}/nodes`]: json([{ ...node, node_name: 'web1', reason: 'permission denied' }]),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  await run(['push', 'start', '--node', 'web1', '--', 'x'], world);
  expect(world.err()).toContain('a grant on a group that the node is in (muster node-group list), or push:write');
});

describe('a script that no node would run is refused before the server is asked', () => {
  const NO_INTERPRETER = 'does not begin with a line that names its interpreter, such as #!/bin/sh';

  test.each([
    ['without an interpreter', 'echo hi\n', [], NO_INTERPRETER],
    ['without an interpreter, in a dry run', 'echo hi\n', ['--dry-run'], NO_INTERPRETER],
    ['empty', '', [], NO_INTERPRETER],
    ['from Windows', '#!/bin/sh\r\necho hi\r\n', [], 'has lines that end as on Windows'],
    ['too large', `#!/bin/sh\n${' '.repeat(1_048_576)}`, [], 'a script has at most 1048576'],
    ['no file', null, [], 'is not an ordinary file'],
  ])('%s', async (_, content, flags, reason) => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-script-'));
    const script = content === null ? directory : join(directory, 'a.sh');
    if (content !== null) writeFileSync(script, content);
    server = await apiServer({});
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    const code = await run(['push', 'start', '--node', 'web1', '--script', script, ...flags], world);
    rmSync(directory, { recursive: true });
    expect([code, server.received]).toEqual([2, []]);
    expect(world.err()).toContain(`${script} `);
    expect(world.err()).toContain(reason);
  });
});

test.each([
  ['--script', ['--script', '-']],
  ['--file', ['--file', '-', '--', 'true']],
])('%s is no standard input', async (flag, argv) => {
  const world = testWorld({ env: { MUSTER_URL: 'http://127.0.0.1:9', MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'start', '--node', 'web1', ...argv], world)).toBe(2);
  expect(world.err()).toContain(`${flag} takes a file, and not standard input`);
});

describe('what the server says of a field', () => {
  async function refused(error: string, ...flags: readonly string[]) {
    const fix = { 'x-muster-error': 'invalid_field', 'x-muster-fix': 'Correct the field and send again.' };
    server = await apiServer({
      'POST /organizations/o/pushy/jobs': (_, response) => {
        response.writeHead(400, { 'content-type': 'application/json', ...fix });
        response.end(JSON.stringify({ error }));
      },
    });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect(await run(['push', 'start', '--node', 'web1', ...flags, '--', 'true'], world)).toBe(2);
    return world.err();
  }

  test('is said of the flag that was typed', async () => {
    const waits = 'invalid wait_timeout: goes with "when_busy": "wait"';
    expect(await refused(waits, '--wait-timeout', '5s')).toBe('error: --wait-timeout: goes with --when-busy wait\n');
    await server?.close();
    const secret = await refused('invalid secrets.db: there is none', '--secret', 'db');
    expect(secret).toBe('error: --secret db: there is none\n');
    await server?.close();
    const numbered = await refused('invalid env.0.dest: must be text', '--env', 'A=1');
    expect(numbered).toBe('error: --env (number 1): must be text\n');
  });

  test('is as it was of a field that no flag was typed for', async () => {
    const text = 'invalid wait_timeout: is too long';
    expect(await refused(text)).toBe(`error: ${text}\nfix: Correct the field and send again.\n`);
  });
});

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

describe('a quorum', () => {
  test.each([
    ['of nodes that match', ['role:web']],
    ['of nodes that match, with --yes', ['role:web', '--yes']],
    ['of nodes that are named, however often', ['--node', 'a', 'b', 'c', 'd', 'a']],
    ['in a dry run', ['role:web', '--dry-run']],
  ])('beyond the number %s starts nothing and says how many there are', async (_which, argv) => {
    const { code, world, started } = await start([...argv, '--quorum', '9'], 4);
    expect([code, started]).toEqual([2, false]);
    expect(world.err()).toBe(
      'error: nothing was started: 4 nodes were chosen, and a quorum of 9 cannot be reached\n' +
        'fix: Give --quorum 4 or less, a share such as --quorum 80%, or leave it out: then all must commit. ' +
        'Or choose more nodes.\n',
    );
  });

  test.each(['4', '0.8', '100%'])('of %s starts on four nodes', async (quorum) => {
    expect(await start(['role:web', '--quorum', quorum], 4)).toMatchObject({ code: 0, started: true });
  });

  test('beyond the nodes is told before anybody is asked for a yes', async () => {
    const { code, world, started } = await start(['role:web', '--quorum', '102'], 101, 'yes\n');
    expect([code, started]).toEqual([2, false]);
    expect(world.err()).not.toContain('Run ');
  });

  test('of one on one node is no mistake; of two is', async () => {
    expect(await start(['role:web', '--quorum', '1'], 1)).toMatchObject({ code: 0, started: true });
    await server?.close();
    expect((await start(['role:web', '--quorum', '2'], 1)).world.err()).toContain('1 node was chosen, and');
  });
});

test('--detach says the id and ends; --json prints the job', async () => {
  expect((await start(['role:web'], 2)).world.out()).toBe(`Starting job id ${ID}\n`);
  await server?.close();
  const { world } = await start(['role:web', '--json'], 2);
  expect(JSON.parse(world.out())).toMatchObject({ id: ID, status: 'voting' });
});

test.each([
  ['no node has', 'unknown', 2],
  ['a node has', 'busy', 0],
])('a name behind --node that %s, and that may be a query: %s', async (_, why, code) => {
  server = await apiServer({
    [`POST ${JOBS}/preview`]: json({ refusals: [{ node_name: 'role:web', why, reason: why }] }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  const argv = ['push', 'start', '--available', '--node', 'web1', 'role:web', '--detach', '--', 'true'];
  expect(await run(argv, world), world.err()).toBe(code);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ nodes: ['role:web'] });
  expect(server.received.some(({ path }) => path === JOBS)).toBe(code === 0);
  if (code !== 0) expect(world.err()).toContain("choose nodes in one way: the query 'role:web', or --node");
});
