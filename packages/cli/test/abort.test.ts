import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const ORG = '/organizations/o';
const JOB = `${ORG}/pushy/jobs/J`;

let server: ApiServer | undefined;
afterEach(() => server?.close());

type Taken = { readonly node_name: string; readonly owner: string; readonly job_id?: string };

/** Aborts a job that is over at once; `looks` are the nodes that take no jobs, at one look after the other. */
async function abort(
  nodes: Readonly<Record<string, readonly string[]>>,
  looks: readonly (readonly Taken[])[],
  options: { readonly argv?: readonly string[]; readonly now?: () => number; readonly status?: string } = {},
) {
  let look = 0;
  server = await apiServer({
    [`PUT ${JOB}/abort`]: json({ id: 'J', command: 'x', status: options.status ?? 'aborted', run_timeout: 1, nodes }),
    [`GET ${ORG}/nodes`]: (request, response) => {
      const shown = looks[Math.min(look++, looks.length - 1)] ?? [];
      json({ total: shown.length, nodes: shown })(request, response);
    },
  });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env, ...(options.now !== undefined && { now: options.now }) });
  const code = await run(options.argv ?? ['push', 'abort', 'J', '--wait'], world);
  return { code, world, looks: look };
}

const rehab = (node_name: string): Taken => ({ node_name, owner: 'rehab' });

test('--wait lasts until every node of the job has left rehab', async () => {
  const { code, world, looks } = await abort({ aborted: ['a', 'b'] }, [[rehab('a'), rehab('b')], [rehab('b')], []]);
  expect([code, looks]).toEqual([0, 3]);
  expect(world.err()).toBe('waiting until the command has stopped: a, b\n');
  expect(world.out()).toBe('Job J aborted\n');
});

test('--wait lasts while a node still belongs to the job, not while another job has it', async () => {
  const taken = (job_id: string): Taken => ({ node_name: 'a', owner: 'job', job_id });
  expect(await abort({ aborted: ['a'] }, [[taken('J')], [taken('K')]])).toMatchObject({ code: 0, looks: 2 });
});

test('--wait does not wait for nodes that ended by themselves or were never part of the job', async () => {
  const nodes = { aborted: ['a'], succeeded: ['b'], failed: ['c'], nacked: ['d'], unavailable: ['e'] };
  const others = ['b', 'c', 'd', 'e', 'stranger'].map(rehab);
  expect(await abort(nodes, [others])).toMatchObject({ code: 0, looks: 1 });
});

test('--wait says that nothing is known of a node that is down', async () => {
  const { code, world } = await abort({ aborted: ['a'] }, [[rehab('a')], [{ node_name: 'a', owner: 'down' }]]);
  expect(code).toBe(0);
  expect(world.err()).toContain('down, so what still runs there is not known: a\n');
});

test('--wait gives up after five minutes, says which nodes have not stopped, and fails', async () => {
  let now = 0;
  const look = () => {
    now += 299_999;
    return now;
  };
  const { code, world, looks } = await abort({ aborted: ['a'] }, [[rehab('a')]], { now: look });
  expect(code).toBe(1);
  expect(looks).toBeGreaterThan(1);
  expect(world.err()).toContain('not stopped after 5 minutes: a   Why: muster node why a\n');
});

test('of a job that had ended nothing was left to abort', async () => {
  const options = { argv: ['push', 'abort', 'J'], status: 'complete' };
  const { code, world } = await abort({ succeeded: ['a'] }, [[]], options);
  expect([code, world.out()]).toEqual([0, 'Job J had ended before, there was nothing to abort: complete\n']);
});

test('without --wait no node is looked at', async () => {
  const { code, looks } = await abort({ aborted: ['a'] }, [[rehab('a')]], { argv: ['push', 'abort', 'J'] });
  expect([code, looks]).toEqual([0, 0]);
});

test('--yes is taken, as by commands that ask', async () => {
  expect(await abort({}, [], { argv: ['push', 'abort', 'J', '--yes'] })).toMatchObject({ code: 0 });
});
