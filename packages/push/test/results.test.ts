import { ManualClock } from '@muster/base';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OutputKeeper } from '../../platform/src/output/keeper.js';
import { openTestStore } from '../../platform/test/support/test-store.js';
import { groupResults, type ResultRow } from '../src/repository/results.js';
import { finished, type PushServer, startPushServer } from './support/push-server.js';

/** Identical results of nodes, together. */

const row = (node: string, given: Partial<ResultRow> = {}): ResultRow => ({
  node,
  status: 'succeeded',
  reason: null,
  exit_code: 0,
  signal: null,
  stdout_bytes: 3,
  stderr_bytes: 0,
  output_hash: 'a',
  output_missing: null,
  ...given,
});

test('nodes are together when status, cause, exit code and both streams are the same, the largest group first', () => {
  const groups = groupResults([
    row('a', { output_hash: 'b' }),
    row('b'),
    row('c', { exit_code: 1, status: 'failed' }),
    row('d'),
    row('e', { output_missing: 'down while executing' }),
    row('f', { stdout_bytes: 4 }),
  ]);
  expect(groups.map(({ nodes }) => nodes)).toEqual([['b', 'd'], ['a'], ['c'], ['e'], ['f']]);
  expect(new Set(groups.map(({ group }) => group)).size).toBe(5);
  expect(groups[0]?.group).toMatch(/^[0-9a-f]{32}$/);
});

describe('the hash of an output', () => {
  const source = (part: string) => ({ subject: 'push/1', part });
  const keeperOn = (store: Awaited<ReturnType<typeof openTestStore>>['store']) =>
    new OutputKeeper({
      store,
      clock: new ManualClock(),
      limitOf: () => 100,
      hashed: true,
      failed: (error) => expect.fail(`${error}`),
    });

  test('is that of the bytes, however they came, and goes on after a restart', async () => {
    const { store, close } = await openTestStore();
    onTestFinished(close);
    const keeper = keeperOn(store);
    const take = (
      to: OutputKeeper,
      part: string,
      offset: number,
      text: string,
      stream: 'stdout' | 'stderr' = 'stdout',
    ) => to.take({ ...source(part), stream }, { offset, data: Buffer.from(text) }, () => {});
    take(keeper, 'a', 0, 'hello');
    take(keeper, 'b', 0, 'he');
    take(keeper, 'b', 0, 'hel');
    take(keeper, 'b', 3, 'lo');
    take(keeper, 'c', 0, 'hel');
    take(keeper, 'd', 0, 'hello', 'stderr');
    await keeper.settled();
    const after = keeperOn(store);
    await after.load('push/1', new Set(['c']));
    take(after, 'c', 3, 'lo');
    await after.settled();
    const hash = keeper.hash(source('a'));
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect([keeper.hash(source('b')), after.hash(source('c'))]).toEqual([hash, hash]);
    expect(keeper.hash(source('d'))).not.toBe(hash);
    expect(keeper.hash(source('nobody'))).toBeNull();
  });
});

describe('the results of a job', () => {
  let server: PushServer;
  let id: string;
  const nodes = ['n1', 'n2', 'n3', 'n4', 'n5'];
  beforeAll(async () => {
    server = await startPushServer();
    for (const node of nodes) server.nodes.enter(server.org.id, node, 'run');
    server.nodes.enter(server.org.id, 'DOWN', 'down');
    id = await server.start({ command: 'x', capture_output: true, quorum: 1, nodes: [...nodes, 'DOWN'] });
    await vi.waitFor(async () => expect((await job()).nodes).toMatchObject({ running: nodes }), { timeout: 60_000 });
    const texts = ['same\n', 'same\n', 'other\n', 'same\n', Uint8Array.of(0xff)];
    for (const [index, node] of nodes.entries()) {
      const data = Buffer.from(texts[index] ?? '');
      server.nodes.play(node, { type: 'output', jobId: id, stream: 'stdout', offset: 0, data });
      const outcome = node === 'n4' ? 'failed' : 'succeeded';
      // Of the last one too much to be kept.
      const stdout = node === 'n5' ? 25 : data.length;
      server.nodes.play(node, finished(id, outcome, { stdout, stderr: 0 }));
    }
    await server.finish(id);
  });
  afterAll(() => server.close());

  const job = async () => (await (await server.send({ path: `jobs/${id}` })).json()) as Record<string, unknown>;
  const get = async (query = '') => {
    const response = await server.send({ path: `jobs/${id}/results${query}` });
    return { link: response.headers.get('link'), body: (await response.json()) as Answer };
  };
  interface Answer {
    readonly groups: number;
    readonly nodes: number;
    readonly results: readonly { readonly group: string; readonly [key: string]: unknown }[];
  }

  test('begin with the largest group, with how the output of each begins', async () => {
    const { body, link } = await get();
    expect(link).toBeNull();
    expect(body).toMatchObject({ groups: 4, nodes: 5 });
    expect(body.results[0]).toEqual({
      position: 1,
      group: expect.stringMatching(/^[0-9a-f]{32}$/),
      count: 2,
      nodes: ['n1', 'n2'],
      status: 'succeeded',
      reason: null,
      exit_code: 0,
      signal: null,
      output_missing: null,
      stdout: { bytes: 5, kept_bytes: 5, text: 'same\n' },
      stderr: { bytes: 0, kept_bytes: 0, text: '' },
    });
    expect(body.results.map(({ nodes: names, stdout }) => [names, stdout]).slice(1)).toEqual([
      [['n3'], { bytes: 6, kept_bytes: 6, text: 'other\n' }],
      [['n4'], { bytes: 5, kept_bytes: 5, text: 'same\n' }],
      [['n5'], { bytes: 25, kept_bytes: 1, base64: '/w==' }],
    ]);
  });

  test('come in pages by position', async () => {
    const first = await get('?limit=3');
    expect(first.body.results.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(first.link).toContain('after=3');
    const last = await get('?limit=3&after=3');
    expect([last.body.results.map(({ position }) => position), last.link]).toEqual([[4], null]);
    expect((await server.send({ path: `jobs/${id}/results?limit=101` })).status).toBe(400);
  });

  test('name all nodes of a group by the beginning of its name', async () => {
    const [{ group = '' } = {}] = (await get()).body.results;
    const names = async (query: string) => {
      const response = await server.send({ path: `jobs/${id}/nodes?${query}` });
      return response.status === 200
        ? ((await response.json()) as { node_name: string }[]).map(({ node_name }) => node_name)
        : response.status;
    };
    expect(await names(`group=${group.slice(0, 8)}`)).toEqual(['n1', 'n2']);
    expect(await names(`group=${group}&after=n1`)).toEqual(['n2']);
    expect(await names(`group=${group}&status=failed`)).toEqual([]);
    expect([await names('group=xyz'), await names(`group=${'0'.repeat(32)}`)]).toEqual([400, 404]);
  });

  test('are audited as other readings of output are', async () => {
    await get();
    const targets = async () => {
      const entries = await server.auth.audit.page({ orgId: server.org.id, limit: 100 });
      return entries.filter(({ action }) => action === 'output.read').map(({ target }) => target);
    };
    await expect.poll(targets).toContain(`/organizations/default/pushy/jobs/${id}/results`);
  });

  test('are for those who may read the output', async () => {
    expect((await server.send({ path: `jobs/${id}/results`, as: 'outside user' })).status).toBe(403);
    expect((await server.send({ path: `jobs/${'0'.repeat(32)}/results` })).status).toBe(404);
  });
});
