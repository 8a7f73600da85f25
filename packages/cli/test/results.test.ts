import { afterEach, describe, expect, test } from 'vitest';
import { alikeLines } from '../src/commands/push/results/compared.js';
import { diffGroupLines, groupLines, type Result } from '../src/commands/push/results/group-lines.js';
import { lineDiff } from '../src/commands/push/results/line-diff.js';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const JOB = '/organizations/o/pushy/jobs/J';

const result = (given: Partial<Result> = {}): Result => ({
  position: 1,
  group: '3f2a9c01'.repeat(4),
  count: 9870,
  nodes: ['a1', 'a2', 'a3', 'a4'],
  status: 'succeeded',
  reason: null,
  exit_code: 0,
  signal: null,
  output_missing: null,
  stdout: { bytes: 6, text: 'hello\n' },
  stderr: { bytes: 0, text: '' },
  ...given,
});

describe('a group', () => {
  test('says how many nodes, which, how they ended, and how their output begins', () => {
    expect(groupLines(result())).toEqual([
      '9,870 nodes: same output, succeeded  (3f2a9c01)',
      '  a1, a2, a3 and 9,867 more',
      '    hello',
    ]);
  });

  test('of one node, with much output, of which some is no text', () => {
    const one = result({
      count: 1,
      nodes: ['b\u001b'],
      status: 'failed',
      exit_code: 3,
      stdout: { bytes: 9000, text: '1\n2\n3\n4\n5\n6\u001b\n' },
      stderr: { bytes: 3, base64: '/wAA' },
    });
    expect(groupLines(one)).toEqual([
      '1 node, failed: exit 3  (3f2a9c01)',
      '  b\\x1b',
      ...['1', '2', '3', '4', '5', '…'].map((line) => `    ${line}`),
      '    stderr: 3 bytes that are no text',
    ]);
  });
});

test('a group that wrote nothing says so, and one of which not all was kept how much', () => {
  const nothing = { bytes: 0, kept_bytes: 0, text: '' };
  expect(groupLines(result({ stdout: nothing, stderr: nothing })).slice(2)).toEqual(['    (no output)']);
  const unknown = { bytes: null, kept_bytes: null, text: '' };
  expect(groupLines(result({ stdout: unknown, stderr: unknown })).slice(2)).toEqual([]);
  const much = { bytes: 25_000_000, kept_bytes: 10_485_760 };
  const cut = result({ stdout: { ...much, text: 'x\n' }, stderr: { ...much, base64: '/w==' } });
  expect(groupLines(cut).slice(2)).toEqual([
    '    x',
    '    … (10,485,760 of 25,000,000 bytes were kept: output limit)',
    '    stderr: 25000000 bytes that are no text (10,485,760 of 25,000,000 bytes were kept: output limit)',
  ]);
});

test('a group whose output is not whole says so, and not that there is none', () => {
  const nothing = { bytes: 0, kept_bytes: 0, text: '' };
  const incomplete = '    may be incomplete, what came last did not reach the server (the server was away)';
  const lost = result({ stdout: nothing, stderr: nothing, output_missing: 'the server was away' });
  expect(groupLines(lost).slice(2)).toEqual([incomplete]);
  expect(groupLines({ ...lost, stdout: result().stdout }).slice(2)).toEqual(['    hello', incomplete]);
});

describe('a difference', () => {
  const shown = (before: string, after: string) =>
    diffGroupLines(result(), lineDiff(before.split(' '), after.split(' ')), ['the same output']).slice(2);

  test.each([
    ['a b c', 'a b c', ['    the same output']],
    [
      'a b c d e f',
      'a b x d e f',
      ['      … 1 line the same', '      b', '    - c', '    + x', '      d', '      … 2 lines the same'],
    ],
    ['a b c', 'b c d', ['    - a', '      b', '      c', '    + d']],
    ['a x b y c', 'a b z c', ['      a', '    - x', '      b', '    - y', '    + z', '      c']],
  ])('between %s and %s', (before, after, lines) => {
    expect(shown(before, after)).toEqual(lines);
  });

  test('of long texts without a line in common needs no square of memory', () => {
    const before = Array.from({ length: 10_000 }, (_, n) => `a${n}`);
    const diff = lineDiff(
      before,
      before.map((line) => `b${line}`),
    );
    expect(diff).toHaveLength(20_000);
    expect(diffGroupLines(result(), diff, []).at(-1)).toBe('    … 19960 lines of difference more');
  });
});

describe('of two outputs with the same lines is told', () => {
  const nothing = { bytes: 0, kept_bytes: 0, text: '' };
  const side = (text: string, given: Partial<Result['stdout']> = {}, missing: string | null = null) => ({
    result: result({ stdout: { bytes: text.length, text, ...given }, stderr: nothing, output_missing: missing }),
    stdout: { text, cut: false, sha256: text },
    stderr: null,
  });
  const unknown = { bytes: null, kept_bytes: null };
  const noOutput = (given: Partial<Result> = {}) => ({
    result: result({ stdout: { ...unknown, text: '' }, stderr: { ...unknown, text: '' }, ...given }),
    stdout: null,
    stderr: null,
  });
  const much = (bytes: number) => side('x', { bytes, kept_bytes: 10_485_760 });

  test.each([
    ['nothing else', side('a\n'), side('a\n'), ['the same output']],
    ['a line end', side('a\n'), side('a'), ['the same lines, but no line end at the end']],
    ['a line end', side('a'), side('a\n'), ['the same lines, but a line end at the end']],
    [
      'what was not kept',
      much(12_000_000),
      much(13_000_000),
      ['12,000,000 bytes and 13,000,000 bytes; the same as far as they were kept'],
    ],
    [
      'what was not compared',
      { ...much(12_000_000), stdout: { text: 'x', cut: true, sha256: '1' } },
      much(12_000_000),
      ['12,000,000 bytes and 12,000,000 bytes; the same in the first 262,144 of them'],
    ],
    ['that there is none', noOutput(), noOutput({ exit_code: 1 }), ['output was not kept']],
    ['what did not come', side('a\n'), side('a\n', {}, 'lost'), ['incomplete: the same as far as it came']],
  ])('%s', (_, before, after, told) => {
    expect(alikeLines(before, after)).toEqual(told);
  });
});

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function muster(...argv: readonly string[]) {
  const groups = [
    result(),
    result({ position: 2, group: 'b'.repeat(32), count: 1, nodes: ['b1'], stdout: { bytes: 4, text: 'bye\n' } }),
  ];
  server = await apiServer({
    [`GET ${JOB}`]: json({ id: 'J', command: 'x', status: 'complete', capture_output: true, nodes: {} }),
    [`GET ${JOB}/results`]: json({ groups: 2, nodes: 9871, results: groups }),
    [`GET ${JOB}/nodes`]: json([{ node_name: 'b1' }, { node_name: 'b2' }]),
    [`GET ${JOB}/output/a1/stdout`]: (_, response) => void response.end('hello\n'),
    [`GET ${JOB}/output/b1/stdout`]: (_, response) => void response.end('bye\n'),
    'POST /organizations/o/pushy/jobs': json({ id: 'K', uri: '' }, 201),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  return { code: await run(['push', ...argv], world), world, received: server.received };
}

test('push results shows the groups; --diff what differs from the largest', async () => {
  const plain = await muster('results', 'J');
  expect(plain.world.out()).toContain('\n\n1 node, succeeded  (bbbbbbbb)\n  b1\n    bye\n');
  await server?.close();
  const diff = await muster('results', 'J', '--diff');
  expect(diff.world.out()).toContain('\n\n1 node, succeeded  (bbbbbbbb)\n  b1\n    - hello\n    + bye\n');
});

test('push results of a job whose output was not taken shows every group with its nodes', async () => {
  const none = { bytes: null, kept_bytes: null, text: '' };
  const ended = (given: Partial<Result>) => result({ stdout: none, stderr: none, count: 1, ...given });
  const results = [
    ended({ nodes: ['a1'] }),
    ended({ group: 'b'.repeat(32), nodes: ['b1'], status: 'failed', exit_code: 3 }),
  ];
  server = await apiServer({
    [`GET ${JOB}`]: json({ id: 'J', command: 'x', status: 'complete', capture_output: false, nodes: {} }),
    [`GET ${JOB}/results`]: json({ groups: 2, nodes: 2, results }),
  });
  for (const flags of [[], ['--diff']]) {
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect(await run(['push', 'results', 'J', ...flags], world)).toBe(0);
    expect(world.out()).toBe('1 node, succeeded  (3f2a9c01)\n  a1\n\n1 node, failed: exit 3  (bbbbbbbb)\n  b1\n');
    expect(world.err()).toContain('no output was taken (--no-capture)');
  }
});

test('push results --diff tells apart outputs that differ in their last line end', async () => {
  const ended = (position: number, node: string, text: string) =>
    result({ position, group: node.repeat(16), count: 1, nodes: [node], stdout: { bytes: text.length, text } });
  server = await apiServer({
    [`GET ${JOB}`]: json({ id: 'J', command: 'x', status: 'complete', capture_output: true, nodes: {} }),
    [`GET ${JOB}/results`]: json({ groups: 2, nodes: 2, results: [ended(1, 'a1', 'a\n'), ended(2, 'b1', 'a')] }),
    [`GET ${JOB}/output/a1/stdout`]: (_, response) => void response.end('a\n'),
    [`GET ${JOB}/output/b1/stdout`]: (_, response) => void response.end('a'),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'results', 'J', '--diff'], world)).toBe(0);
  expect(world.out()).toContain('\n  b1\n    the same lines, but no line end at the end\n');
});

test('push results --diff tells binary outputs apart, and shows none of their bytes', async () => {
  const binary = (position: number, group: string, node: string) =>
    result({ position, group, count: 1, nodes: [node], stdout: { bytes: 3, base64: '/wAA' } });
  server = await apiServer({
    [`GET ${JOB}`]: json({ id: 'J', command: 'x', status: 'complete', capture_output: true, nodes: {} }),
    [`GET ${JOB}/results`]: json({ groups: 2, nodes: 2, results: [binary(1, 'a', 'a1'), binary(2, 'b', 'b1')] }),
    [`GET ${JOB}/output/a1/stdout`]: (_, response) => void response.end(Buffer.from([0xff, 0, 0])),
    [`GET ${JOB}/output/b1/stdout`]: (_, response) => void response.end(Buffer.from([0xff, 0, 1])),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'results', 'J', '--diff'], world)).toBe(0);
  expect(world.out()).toMatch(
    /\n {4}- 3 bytes that are no text \(sha256 [0-9a-f]{8}\)\n {4}\+ 3 bytes that are no text \(sha256 [0-9a-f]{8}\)\n/,
  );
});

test('push results --limit says how many groups there are besides', async () => {
  for (const [groups, more] of [
    [2, '… and 1 group more: muster push results J --limit 2'],
    [3, '… and 2 groups more: muster push results J --limit 3'],
  ] as const) {
    server = await apiServer({
      [`GET ${JOB}`]: json({ id: 'J', command: 'x', status: 'complete', capture_output: true, nodes: {} }),
      [`GET ${JOB}/results`]: json({ groups, nodes: 9871, results: [result()] }),
    });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect(await run(['push', 'results', 'J', '--limit', '1'], world)).toBe(0);
    expect(world.err()).toContain(more);
    await server.close();
  }
});

test('push results --group names all nodes of a group, of which the groups show the first', async () => {
  const plain = await muster('results', 'J', '--group', 'bbbbbbbb');
  expect([plain.code, plain.world.out()]).toEqual([0, 'b1\nb2\n']);
  expect(plain.received.at(-1)?.query.get('group')).toBe('bbbbbbbb');
  await server?.close();
  const { world } = await muster('results', 'J', '--group', 'bbbbbbbb', '--json');
  expect(JSON.parse(world.out())).toEqual({ id: 'J', group: 'bbbbbbbb', nodes: ['b1', 'b2'] });
});

test('push results --diff is refused beside --json, which has no differences', async () => {
  const { code, world, received } = await muster('results', 'J', '--diff', '--json');
  expect([code, received]).toEqual([2, []]);
  expect(world.out() + world.err()).toContain('--diff is shown to people, and --json has none: leave one of them out');
});

test.each([
  ['push rerun JOB', ['rerun', 'J']],
  ['push start --rerun JOB', ['start', '--rerun', 'J']],
])('%s --group runs the command again on the nodes of a group, and takes no other choice', async (_, again) => {
  const { code, received } = await muster(...again, '--group', 'bbbb', '--detach');
  expect(code).toBe(0);
  expect(received.find(({ path }) => path.endsWith('/nodes'))?.query.get('group')).toBe('bbbb');
  expect(JSON.parse(received.at(-1)?.body ?? '')).toEqual({
    command: 'x',
    nodes: ['b1', 'b2'],
    capture_output: true,
    quorum: 'default',
  });
  await server?.close();
  expect((await muster(...again, '--group', 'bbbb', '--failed')).code).toBe(2);
});
