import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { MOST_FOLLOWED } from '../src/limits.js';
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

test('of one node, a pipe gets the bytes as they are', async () => {
  const argv = ['--node', 'web1', '--stream', 'stdout'];
  const { world, code } = await output({ 'web1/stdout': bytes(WILD) }, ['web1'], argv, { terminal: false });
  expect(await code).toBe(0);
  expect(world.out()).toBe(WILD);
});

test('of all nodes, a pipe gets text without escape sequences: it may well end on a terminal', async () => {
  const { world, code } = await output({ 'web1/stdout': bytes(WILD) }, ['web1'], [], { terminal: false });
  expect(await code).toBe(0);
  expect(world.out()).toBe('==> web1 stdout <==\none\\x1b[2J\n\\x9dtwo\\x0d\n');
});

test('of all nodes, what was not kept has a line where it is missing', async () => {
  const cut: Answer = (_, response) => {
    response.writeHead(200, { 'x-muster-dropped-bytes': 90, 'x-muster-dropped-at': 4 });
    response.write('be');
    response.end('gi\u001bnd\n');
  };
  const { world, code } = await output({ 'web1/stdout': cut }, ['web1'], [], { terminal: false });
  expect(await code).toBe(0);
  expect(world.out()).toBe('==> web1 stdout <==\nbegi\n90 bytes in the middle were not kept (output limit)\n\\x1bnd\n');
  expect(world.err()).toBe('');
  await server?.close();
  const one = await output({ 'web1/stdout': cut }, ['web1'], ['--node', 'web1'], { terminal: false });
  expect(await one.code).toBe(0);
  expect(one.world.out()).toBe('begi\u001bnd\n');
  expect(one.world.err()).toBe('web1 stdout: 90 bytes in the middle were not kept (output limit)\n');
});

test('of all nodes, what was written to stderr goes to stderr, each part below its heading', async () => {
  const streams = { 'web1/stdout': bytes('a\tb\n'), 'web1/stderr': bytes('bad'), 'web2/stderr': bytes('worse\n') };
  const { world, code } = await output(streams, ['web1', 'web2'], [], { terminal: false });
  expect(await code).toBe(0);
  expect(world.out()).toBe('==> web1 stdout <==\na\tb\n');
  expect(world.err()).toBe('==> web1 stderr <==\nbad\n==> web2 stderr <==\nworse\n');
});

test('stderr that is asked for by name goes to stdout', async () => {
  for (const argv of [[], ['--follow'], ['--node', 'web1']]) {
    const { world, code } = await output({ 'web1/stderr': bytes('bad\n') }, ['web1'], [...argv, '--stream', 'stderr'], {
      terminal: false,
    });
    expect(await code).toBe(0);
    expect([world.out().split('\n').at(-2), world.err()]).toEqual([expect.stringMatching(/^(web1: )?bad$/), '']);
    await server?.close();
  }
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

test('--follow shows lines of all nodes as they come, each with its node in front', async () => {
  const open = new Map<string, ServerResponse>();
  const held =
    (name: string): Answer =>
    (_, response) => {
      response.flushHeaders();
      open.set(name, response);
    };
  const streams = { 'web1/stdout': held('web1'), 'web2/stdout': held('web2'), 'web2/stderr': held('web2 err') };
  const { world, code } = await output(streams, ['web1', 'web2'], ['--follow'], { terminal: false });
  const shows = (text: string) => expect.poll(world.out).toBe(text);
  await expect.poll(() => open.size).toBe(3);
  open.get('web2')?.write('two\nha');
  await shows('web2: two\n');
  open.get('web1')?.write('one\u001b[2J\n\n');
  await shows('web2: two\nweb1: one\\x1b[2J\nweb1: \n');
  open.get('web2 err')?.end('bad\n');
  open.get('web2')?.end('lf');
  await shows('web2: two\nweb1: one\\x1b[2J\nweb1: \nweb2: half\n');
  open.get('web1')?.end();
  expect(await code, world.err()).toBe(0);
  expect(world.err()).toBe('web2: bad\n');
  expect(server?.received.filter(({ query }) => query.get('follow') === 'true')).toHaveLength(4);
});

/** Breaks off after the first piece; asked again, it goes on at the position that was asked for. */
function breaking(whole: string, piece: number, dropped = 0): Answer {
  let times = 0;
  return ({ query }, response) => {
    if (!query.has('follow')) {
      response.writeHead(200, { 'x-muster-complete': String(times > 1), 'x-muster-dropped-bytes': dropped }).end();
      return;
    }
    times++;
    const rest = whole.slice(Number(query.get('from')));
    if (times > 1) response.end(rest);
    else response.write(rest.slice(0, piece), () => response.destroy());
  };
}

test.each([
  [['--node', 'web1'], 'one\ntwo\n'],
  [[], 'web1: one\nweb1: two\n'],
])('--follow %j goes on where the connection broke, without a gap and without repeating', async (argv, text) => {
  const { world, code } = await output(
    { 'web1/stdout': breaking('one\ntwo\n', 5) },
    ['web1'],
    [...argv, '--follow', '--stream', 'stdout'],
    { terminal: false },
  );
  expect(await code, world.err()).toBe(0);
  expect(world.out()).toBe(text);
  expect(world.err()).toBe('the connection broke before the end of the answer; trying again, the job goes on\n');
});

test('--follow goes on with a server that stopped in good order', async () => {
  let asked = 0;
  const stopping: Answer = ({ query }, response) => {
    if (query.has('follow')) response.end(asked++ === 0 ? 'one\n' : 'two\n');
    else response.writeHead(200, { 'x-muster-complete': String(asked > 1) }).end();
  };
  const argv = ['--node', 'web1', '--stream', 'stdout', '--follow'];
  const { world, code } = await output({ 'web1/stdout': stopping }, ['web1'], argv, { terminal: false });
  expect(await code, world.err()).toBe(0);
  expect(world.out()).toBe('one\ntwo\n');
});

test('--follow that broke cannot go on where the middle of the output was not kept', async () => {
  const argv = ['--node', 'web1', '--stream', 'stdout', '--follow'];
  const { world, code } = await output({ 'web1/stdout': breaking('one\ntwo\n', 5, 17) }, ['web1'], argv, {
    terminal: false,
  });
  expect(await code).toBe(1);
  expect(world.out()).toBe('one\nt');
  expect(world.err()).toContain('what was shown cannot be continued');
});

test('so many streams are followed at once, and the others when these end', async () => {
  const nodes = Array.from({ length: MOST_FOLLOWED + 1 }, (_, index) => `n${index}`);
  const open: ServerResponse[] = [];
  const held: Answer = (request, response) => {
    // After its end each is asked for its headers once more.
    if (!request.query.has('follow')) {
      response.end();
      return;
    }
    response.flushHeaders();
    open.push(response);
  };
  const streams = Object.fromEntries(nodes.map((node) => [`${node}/stdout`, held]));
  const { world, code } = await output(streams, nodes, ['--follow', '--stream', 'stdout'], { terminal: false });
  await expect.poll(() => open.length).toBe(MOST_FOLLOWED);
  expect(world.err()).toContain(`${MOST_FOLLOWED} of ${MOST_FOLLOWED + 1} streams`);
  open[0]?.end('x\n');
  await expect.poll(() => open.length).toBe(MOST_FOLLOWED + 1);
  for (const response of open.slice(1)) response.end();
  expect(await code).toBe(0);
  expect(world.out()).toMatch(/^n\d+: x\n$/);
});

test('when one stream fails the others are left', async () => {
  let left = false;
  const held: Answer = (_, response) => {
    response.flushHeaders();
    response.on('close', () => {
      left = true;
    });
  };
  const streams = { 'web1/stdout': held, 'web2/stdout': json({ error: 'no' }, 403) };
  const { code } = await output(streams, ['web1', 'web2'], ['--follow', '--stream', 'stdout'], { terminal: false });
  expect(await code).not.toBe(0);
  await expect.poll(() => left).toBe(true);
});

test('a line without an end comes in pieces', async () => {
  const { world, code } = await output({ 'web1/stdout': bytes('x'.repeat(65_536), 'yz') }, ['web1'], ['--follow'], {
    terminal: false,
  });
  expect(await code).toBe(0);
  expect(world.out()).toBe(`web1: ${'x'.repeat(65_536)}\nweb1: yz\n`);
});
