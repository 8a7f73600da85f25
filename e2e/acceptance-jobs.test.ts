import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Fleet } from './support/fleet.js';

/**
 * Jobs with Push Jobs 2.0 nodes: the job object of reference sheet §9.10, and what the specification and the decisions
 * add to the deployed server. The cases JOBS-1..69 need no node; they are the server package's own tests.
 */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start();
});
afterEach(() => fleet.stopNodes());
afterAll(() => fleet.stop());

const NAMES = ['DONKEY', 'FARQUAD', 'FIONA'] as const;

async function three() {
  const [donkey, farquad, fiona] = await Promise.all(NAMES.map((name) => fleet.node(name)));
  if (donkey === undefined || farquad === undefined || fiona === undefined) throw new Error('three nodes');
  return { donkey, farquad, fiona };
}

const sorted = (names: readonly string[] | undefined): string[] => [...(names ?? [])].sort();

describe('the job object (sheet §9.10)', () => {
  test('options make the round trip, for the single job and in the list', async () => {
    const options = { user: 'daemon', dir: '/tmp', env: { E1: 'one' }, capture_output: true };
    const id = await fleet.startJob({ command: 'x', nodes: ['NOBODY'], file: 'raw:x', ...options });
    const listed = (await fleet.api.get('pushy/jobs')).json as { id: string }[];
    for (const job of [await fleet.job(id), listed.find((job) => job.id === id)]) {
      expect(job).toMatchObject({ ...options, file_specified: true });
    }
  });

  test('a plain job has the plain keys and no others', async () => {
    const id = await fleet.startJob({ command: 'x', nodes: ['NOBODY'] });
    expect(Object.keys(await fleet.jobIs(id, 'quorum_failed')).sort()).toEqual(
      ['id', 'command', 'status', 'run_timeout', 'created_at', 'updated_at', 'nodes'].sort(),
    );
  });

  test('output of both streams is stored for a failed node, too, and only when the node sends it', async () => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'capture_test_fail', nodes: ['DONKEY'] });
    await fleet.jobIs(id, 'complete');
    const accept = { accept: 'application/octet-stream' };
    expect((await fleet.api.get(`pushy/jobs/${id}/output/DONKEY/stdout`, accept)).status).toBe(404);
  });
});

describe('abort (N7)', () => {
  test('started nodes are aborted, the answer is the job, and repeating it changes nothing', async () => {
    const { donkey } = await three();
    const id = await fleet.startJob({ command: 'held', nodes: NAMES });
    await donkey.waitState('running');
    await fleet.nodeIs(id, 'DONKEY', 'running');
    expect((await fleet.api.put(`pushy/jobs/${id}/abort`)).status).toBe(200);
    const job = await fleet.jobIs(id, 'aborted');
    expect(sorted(job.nodes.aborted)).toEqual(NAMES);
    const again = await fleet.api.put(`pushy/jobs/${id}/abort`);
    expect(again.status).toBe(200);
    expect(again.json).toMatchObject({ id, status: 'aborted' });
    await fleet.available(...NAMES);
  });

  test('while voting nothing has started: nodes were ready or unavailable', async () => {
    const { donkey, fiona } = await three();
    fiona.hooks.commit = () => false;
    const id = await fleet.startJob({ command: 'held', nodes: NAMES });
    await donkey.waitState('committed');
    await fleet.nodeIs(id, 'DONKEY', 'ready');
    await fleet.nodeIs(id, 'FARQUAD', 'ready');
    await fleet.api.put(`pushy/jobs/${id}/abort`);
    const job = await fleet.jobIs(id, 'aborted');
    expect({ ready: sorted(job.nodes.was_ready), unavailable: job.nodes.unavailable }).toEqual({
      ready: ['DONKEY', 'FARQUAD'],
      unavailable: ['FIONA'],
    });
    expect(donkey.got('run')).toEqual([]);
  });
});

describe('quorum (N8)', () => {
  test.each([
    ['a count', 2],
    ['a fraction', 0.6],
    ['a percentage', '60%'],
  ])('%s: two of three are enough', async (_, quorum) => {
    await fleet.node('DONKEY', { whitelist: [] });
    await Promise.all([fleet.node('FARQUAD'), fleet.node('FIONA')]);
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: NAMES, quorum });
    expect((await fleet.jobIs(id, 'complete')).nodes.nacked).toEqual(['DONKEY']);
  });

  test('100% is not reached when one refuses, and nothing starts', async () => {
    await fleet.node('DONKEY', { whitelist: [] });
    const [farquad] = await Promise.all([fleet.node('FARQUAD'), fleet.node('FIONA')]);
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: NAMES, quorum: '100%' });
    await fleet.jobIs(id, 'quorum_failed');
    expect(farquad.got('run')).toEqual([]);
  });
});

describe('when execution starts (N9)', () => {
  test('a node that commits after the voting timeout is started late', async () => {
    const { donkey, fiona } = await three();
    fiona.hooks.commit = () => false;
    const id = await fleet.startJob({ command: 'held', nodes: NAMES, quorum: 2, voting_timeout: 1 });
    await fleet.nodeIs(id, 'DONKEY', 'running');
    fiona.comply(await fiona.waitFor('commit'));
    await fleet.nodeIs(id, 'FIONA', 'running');
    for (const node of [donkey, fiona]) node.command?.end(0);
    await fleet.nodeIs(id, 'FIONA', 'succeeded');
  });
});

describe('limits (Push Jobs §5.3, possible extensions)', () => {
  test('concurrency: the next node starts when one has ended', async () => {
    const nodes = Object.values(await three());
    const id = await fleet.startJob({ command: 'held', nodes: NAMES, concurrency: 1 });
    for (let ended = 0; ended < NAMES.length; ended++) {
      await fleet.nodeCountIn(id, 'running', 1);
      const running = nodes.filter((node) => node.state === 'running');
      expect(running).toHaveLength(1);
      running[0]?.command?.end(0);
      await fleet.nodeCountIn(id, 'succeeded', ended + 1);
    }
    await fleet.jobIs(id, 'complete');
  });

  test('max_failures: after too many failures no further node is started', async () => {
    await three();
    const job = { command: 'this_oughta_fail', nodes: NAMES, concurrency: 1, max_failures: 0 };
    const { nodes } = await fleet.jobIs(await fleet.startJob(job), 'complete');
    expect([nodes.failed?.length, nodes.was_ready?.length]).toEqual([1, 2]);
  });

  test('node_timeout: a node that runs too long is timed out, the others go on', async () => {
    const { farquad, fiona } = await three();
    const id = await fleet.startJob({ command: 'held', nodes: NAMES, node_timeout: 1 });
    await Promise.all([farquad.waitState('running'), fiona.waitState('running')]);
    farquad.command?.end(0);
    fiona.command?.end(0);
    const { nodes } = await fleet.jobIs(id, 'complete');
    expect({ late: nodes.timed_out, done: sorted(nodes.succeeded) }).toEqual({
      late: ['DONKEY'],
      done: ['FARQUAD', 'FIONA'],
    });
  });

  test('ack_timeout: a silent node is unavailable before the voting timeout', async () => {
    const { donkey } = await three();
    donkey.hooks.commit = () => false;
    const job = { command: 'this_oughta_succeed', nodes: NAMES, quorum: 2, ack_timeout: 1 };
    const { nodes } = await fleet.jobIs(await fleet.startJob(job), 'complete');
    expect(nodes.unavailable).toEqual(['DONKEY']);
  });
});

describe('targets', () => {
  test('nodes of an earlier job with several statuses (Push Jobs §1.1)', async () => {
    await three();
    const first = await fleet.startJob({ command: 'fails on DONKEY', nodes: [...NAMES, 'NOBODY'], quorum: 1 });
    await fleet.jobIs(first, 'complete');
    const from_job = { id: first, statuses: ['failed', 'unavailable'] };
    const second = await fleet.startJob({ command: 'this_oughta_succeed', from_job, quorum: 1 });
    expect((await fleet.jobIs(second, 'complete')).nodes).toEqual({ succeeded: ['DONKEY'], unavailable: ['NOBODY'] });
  });
});
