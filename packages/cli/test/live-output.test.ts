import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { LiveLines, type WrittenPiece } from '../src/commands/push/live/lines.js';
import { viewOf } from '../src/commands/push/live/view.js';
import { StatusLine } from '../src/progress.js';
import { run } from '../src/run.js';
import { Tally } from '../src/tally.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { screenOf } from './support/screen.js';
import { testWorld } from './support/world.js';

const piece = (node: string, offset: number, text: string, stream: 'stdout' | 'stderr' = 'stdout'): WrittenPiece => ({
  node,
  stream,
  offset,
  data: Buffer.from(text),
});
const plain = { names: null, paint: (text: string) => text };
const texts = (lines: LiveLines, ...pieces: readonly WrittenPiece[]) =>
  [...pieces.flatMap((each) => lines.push(each)), ...lines.end()].map(({ to, text }) => `${to}|${text}`);

describe('lines of nodes as they come', () => {
  test('of one node stand as they were written, streams apart, control characters shown', () => {
    const shown = texts(
      new LiveLines(plain),
      piece('a', 0, 'one\ntw'),
      piece('a', 0, '\u001b[2J\n', 'stderr'),
      piece('a', 6, 'o'),
    );
    expect(shown).toEqual(['stdout|one\n', 'stderr|\\x1b[2J\n', 'stdout|two\n']);
  });

  test('of a few nodes have aligned names in colours; of many only names', () => {
    const painted = { names: ['db', 'web10'], paint: (text: string, colour: string) => `<${colour} ${text}>` };
    expect(texts(new LiveLines(painted), piece('db', 0, 'x\n'), piece('web10', 0, 'y\n'))).toEqual([
      'stdout|<cyan db:>    x\n',
      'stdout|<green web10:> y\n',
    ]);
    const many = { ...painted, names: Array.from({ length: 11 }, (_, n) => `n${n}`) };
    expect(texts(new LiveLines(many), piece('n1', 0, 'x\n'))).toEqual(['stdout|n1: x\n']);
  });

  test('come once after a break, and what is left out is told', () => {
    const lines = new LiveLines({ ...plain, names: ['a', 'b'] });
    expect(texts(lines, piece('a', 0, 'one\n'), piece('a', 0, 'one\ntwo\n'), piece('a', 4, 'two\n'))).toEqual([
      'stdout|a: one\n',
      'stdout|a: two\n',
    ]);
    expect(texts(lines, piece('a', 18, 'end'))).toEqual([
      'stdout|a stdout: 10 bytes in the middle were not kept (output limit)\n',
      'stdout|a: end\n',
    ]);
  });

  test('that have not ended are shown when their node has', () => {
    const lines = new LiveLines({ ...plain, names: ['a', 'b'] });
    const pieces = [piece('a', 0, 'first\nlast'), piece('b', 0, 'more'), piece('a', 0, 'oh', 'stderr')];
    expect(pieces.flatMap((each) => lines.push(each))).toEqual([{ to: 'stdout', text: 'a: first\n' }]);
    expect(lines.endOf('a')).toEqual([
      { to: 'stdout', text: 'a: last\n' },
      { to: 'stderr', text: 'a: oh\n' },
    ]);
    expect(lines.endOf('a')).toEqual([]);
    expect(lines.end()).toEqual([{ to: 'stdout', text: 'b: more\n' }]);
  });

  test('of one node on a terminal come as they are written, but for half a character', () => {
    const lines = new LiveLines({ ...plain, atOnce: ['stdout'] });
    const bytes = (offset: number, ...data: readonly number[]): WrittenPiece => ({
      ...{ node: 'a', stream: 'stdout', offset },
      data: Buffer.from(data),
    });
    expect(
      texts(lines, piece('a', 0, '.'), bytes(1, 0x2e, 0xc3), bytes(3, 0xa9), piece('a', 0, '!', 'stderr')),
    ).toEqual(['stdout|.', 'stdout|.', 'stdout|é', 'stderr|!\n']);
    expect(texts(lines, bytes(14, 0xc3))).toEqual([
      'stdout|a stdout: 10 bytes in the middle were not kept (output limit)\n',
      'stdout|\ufffd',
    ]);
  });

  test('that do not end are shown in pieces', () => {
    const shown = texts(new LiveLines(plain), piece('a', 0, 'x'.repeat(20_000)));
    expect(shown.map((text) => text.length)).toEqual([7 + 16_384 + 1, 7 + 3616 + 1]);
  });
});

test.each([
  [1, undefined, true, 'lines'],
  [10, undefined, true, 'lines'],
  [11, undefined, true, 'progress'],
  [11, 'live', true, 'lines'],
  [11, undefined, false, 'lines'],
  [1, 'none', true, 'progress'],
] as const)('of %i nodes with --output %s, on a terminal: %s, there are %s', (count, choice, terminal, kind) => {
  const nodes = { running: Array.from({ length: count }, (_, n) => `n${n}`) };
  expect(viewOf({ nodes, capture_output: true }, choice, terminal).kind).toBe(kind);
});

const JOBS = '/organizations/o/pushy/jobs';
const event = (name: string, data: object): string => `event: ${name}\nid: x-1\ndata: ${JSON.stringify(data)}\n\n`;
const COMPLETE = event('job_complete', { status: 'complete' });

let server: ApiServer | undefined;
afterEach(() => server?.close());

/** Starts a job on these nodes, of which one fails; it ends when that was looked at, if there are many. */
async function started(nodes: readonly string[], terminal: boolean, ...argv: readonly string[]) {
  let feed: ServerResponse | undefined;
  let status = 'running';
  const finish = (): void => {
    status = 'complete';
    feed?.end(COMPLETE);
  };
  const stream =
    (then: (response: ServerResponse) => void): Answer =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      then(response);
    };
  server = await apiServer({
    [`POST ${JOBS}`]: json({ id: 'J', uri: '' }, 201),
    [`GET ${JOBS}/J`]: (request, response) =>
      json({ id: 'J', command: 'x', capture_output: true, status, nodes: { failed: nodes } })(request, response),
    [`GET ${JOBS}/J/nodes`]: json([]),
    [`GET ${JOBS}/J/output/n7/stderr`]: (_, response) => {
      response.end('first\nlast words\n');
      finish();
    },
    'GET /organizations/o/pushy/job_status_feed/J': stream((response) => {
      feed = response;
      response.write(event('run_complete', { node: 'n7', status: 'failure' }));
      if (nodes.length <= 10 || !terminal) finish();
    }),
    [`GET ${JOBS}/J/output`]: stream((response) =>
      response.end(
        event('output', { node: 'n0', stream: 'stdout', offset: 0, text: 'hello\n' }) +
          event('output', {
            node: 'n0',
            stream: 'stderr',
            offset: 0,
            base64: Buffer.from('\u001b[2J\n').toString('base64'),
          }) +
          event('output_missing', { node: 'n0', reason: 'down while executing' }) +
          event('output_complete', {}),
      ),
    ),
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, terminal });
  await run(['push', 'start', '--yes', ...argv, '--node', ...nodes, '--', 'x'], world);
  return { world, asked: server.received.map(({ path }) => path) };
}

const eleven = Array.from({ length: 11 }, (_, n) => `n${n}`);

describe('push start', () => {
  test('asks for the output to be kept, and shows it as it comes', async () => {
    const { world } = await started(['n0'], false);
    expect(JSON.parse(server?.received.find(({ method }) => method === 'POST')?.body ?? '')).toMatchObject({
      capture_output: true,
    });
    expect(world.out()).toMatch(/^Starting job id J\nhello\nJob J complete\n/);
    expect(world.err()).toContain('\\x1b[2J\nn0: may be incomplete, what came last did not reach the server (down');
  });

  test('puts names in front of the lines of several nodes', async () => {
    expect((await started(['n0', 'n1'], false)).world.out()).toContain('\nn0: hello\n');
    await server?.close();
    expect((await started(eleven, false)).world.out()).toContain('\nn0: hello\n');
  });

  test('of more than ten nodes on a terminal shows counts and the last line of the newest that failed', async () => {
    const { world, asked } = await started(eleven, true);
    expect(asked).not.toContain(`${JOBS}/J/output`);
    expect(world.out()).not.toContain('hello');
    expect(asked).toContain(`${JOBS}/J/output/n7/stderr`);
    // The line is wiped: where it can be read is told at the end.
    expect(world.err()).toContain('What the nodes wrote: muster push results J ');
  });

  test('says where output is only to whom it was not shown', async () => {
    for (const [nodes, terminal, ...argv] of [
      [eleven, false],
      [['n0'], true],
      [eleven, false, '--output', 'none'],
    ] as const) {
      expect((await started(nodes, terminal, ...argv)).world.err()).not.toContain('muster push results');
      await server?.close();
    }
  });

  test('--output none and --json show no output', async () => {
    expect((await started(['n0'], false, '--output', 'none')).world.out()).not.toContain('hello');
    await server?.close();
    expect(JSON.parse((await started(['n0'], false, '--json')).world.out())).toMatchObject({ id: 'J' });
  });
});

describe('on a terminal, push start on more than ten nodes', () => {
  test('shows in place how far it is, what became of nodes, and the last line of the newest that failed', async () => {
    let feed: ServerResponse | undefined;
    let status = 'running';
    const wrote =
      (text: string): Answer =>
      (_, response) =>
        void response.end(text);
    server = await apiServer({
      [`POST ${JOBS}`]: json({ id: 'J', uri: '' }, 201),
      [`GET ${JOBS}/J`]: (request, response) =>
        json({ id: 'J', command: 'x', capture_output: true, status, nodes: { running: eleven } })(request, response),
      [`GET ${JOBS}/J/nodes`]: json([]),
      [`GET ${JOBS}/J/output/n7/stderr`]: wrote('first\ndisk \u001b[31mfull\n'),
      [`GET ${JOBS}/J/output/n3/stderr`]: wrote(''),
      [`GET ${JOBS}/J/output/n3/stdout`]: wrote(`cannot ${'x'.repeat(200)}`),
      'GET /organizations/o/pushy/job_status_feed/J': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        feed = response;
      },
    });
    const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T', NO_COLOR: '1' };
    const world = testWorld({ env, terminal: true });
    const ended = run(['push', 'start', '--yes', '--node', ...eleven, '--', 'x'], world);
    const seen = async () => (await screenOf(world.err())).join('\n');
    const tell = (name: string, data: object) => void feed?.write(event(name, data));

    await expect.poll(seen).toMatch(/running \S+ 0\/11 .* 11 running/);
    tell('run_complete', { node: 'n1', status: 'success' });
    tell('run_complete', { node: 'n7', status: 'failure' });
    await expect
      .poll(seen)
      .toMatch(/running \S+ 2\/11 .* 9 running {2}1 succeeded {2}1 failed\nn7 failed: disk \\x1b\[31mfull$/);
    tell('run_complete', { node: 'n3', status: 'failure' });
    await expect.poll(seen).toMatch(/ 3\/11 .* 2 failed\nn3 failed: cannot x+…$/);
    // The one before is gone, and nothing of it is left of a longer line.
    expect(await seen()).not.toContain('n7');
    expect((await screenOf(world.err())).every((line) => line.length < 80)).toBe(true);

    status = 'complete';
    feed?.end(COMPLETE);
    await ended;
    expect(await seen()).not.toMatch(/3\/11|n3 failed: cannot/);
  });
});

test('below the line of progress stands a remark, cut to the terminal, until the line goes away', () => {
  const world = testWorld({ terminal: true, now: () => 0 });
  const line = new StatusLine(world, new Tally());
  line.remark(`n7 failed: ${'x'.repeat(100)}`);
  expect(world.err().endsWith(`\n\u001b[2Kn7 failed: ${'x'.repeat(67)}…\r\u001b[1A`)).toBe(true);
  line.done();
  expect(world.err().endsWith('\r\u001b[J')).toBe(true);
});
