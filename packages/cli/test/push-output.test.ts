import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** `push output`: what remote commands wrote, on a terminal and elsewhere. */

const ID = 'f'.repeat(32);
const JOB = `/organizations/o/pushy/jobs/${ID}`;

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function output(
  streams: Readonly<Record<string, Answer>>,
  nodes: readonly string[],
  argv: readonly string[],
  { terminal }: { readonly terminal: boolean },
) {
  server = await apiServer({
    [`GET ${JOB}/nodes`]: json(nodes.map((node_name) => ({ node_name }))),
    ...Object.fromEntries(Object.entries(streams).map(([path, answer]) => [`GET ${JOB}/output/${path}`, answer])),
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, terminal });
  return { world, code: run(['push', 'output', ID, ...argv], world) };
}

function bytes(...pieces: readonly (string | Uint8Array)[]): Answer {
  return (_, response) => {
    for (const piece of pieces) response.write(piece);
    response.end();
  };
}

const WILD = 'one\u001b[2J\n\u009dtwo\r\n';

test.each([
  ['of one node', ['--node', 'web1', '--stream', 'stdout'], ''],
  ['of all nodes', ['--stream', 'stdout'], '==> web1 stdout <==\n'],
])('%s: a terminal gets control characters as text, line by line', async (_, argv, heading) => {
  const { world, code } = await output({ 'web1/stdout': bytes(WILD) }, ['web1'], argv, { terminal: true });
  expect(await code, world.err()).toBe(0);
  expect(world.out()).toBe(`${heading}one\\x1b[2J\n\\x9dtwo\\x0d\n`);
});

test('stderr on a terminal is escaped like stdout', async () => {
  const { world, code } = await output({ 'web1/stderr': bytes(WILD) }, ['web1'], ['--node', 'web1'], {
    terminal: true,
  });
  expect(await code).toBe(0);
  expect(world.err()).toBe('one\\x1b[2J\n\\x9dtwo\\x0d\n');
});

test.each([
  [['--node', 'web1', '--stream', 'stdout'], ''],
  [['--stream', 'stdout'], '==> web1 stdout <==\n'],
])('a pipe gets the bytes as they are: %j', async (argv, heading) => {
  const { world, code } = await output({ 'web1/stdout': bytes(WILD) }, ['web1'], argv, { terminal: false });
  expect(await code).toBe(0);
  expect(world.out()).toBe(`${heading}${WILD}`);
});

test('--json says everything, on a terminal, too', async () => {
  const { world, code } = await output({ 'web1/stdout': bytes(WILD) }, ['web1'], ['--json'], { terminal: true });
  expect(await code).toBe(0);
  expect(JSON.parse(world.out())).toMatchObject({ node_name: 'web1', text: WILD });
});

test('a character that comes in two pieces is one', async () => {
  const [first, second] = [Uint8Array.of(0xc3), Uint8Array.of(0xa9, 0x0a)];
  let rest: ServerResponse | undefined;
  const halves: Answer = (_, response) => {
    rest = response;
    response.write(first);
  };
  const argv = ['--node', 'web1', '--stream', 'stdout'];
  const { world, code } = await output({ 'web1/stdout': halves }, ['web1'], argv, { terminal: true });
  await expect.poll(() => rest !== undefined).toBe(true);
  rest?.end(second);
  expect(await code).toBe(0);
  expect(world.out()).toBe('é\n');
});
