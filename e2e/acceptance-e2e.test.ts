import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Fleet } from './support/fleet.js';
import type { JobView } from './support/pushy-server.js';
import { until } from './support/until.js';

/**
 * Acceptance list, reference sheet §9.8, with Push Jobs 2.0 nodes. The cases that are about the agent program itself
 * (E2E-1, 3, 23-30, 44) are in acceptance-agent.test.ts,
 * those about captured output in acceptance-output.test.ts.
 */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start();
});
afterEach(() => fleet.stopNodes());
afterAll(() => fleet.stop());

const NAMES = ['DONKEY', 'FARQUAD', 'FIONA'] as const;

/** What the acceptance suite compares: names in order, without id and times. */
function outcome(job: JobView): unknown {
  const nodes = Object.fromEntries(Object.entries(job.nodes).map(([status, names]) => [status, [...names].sort()]));
  return { status: job.status, nodes };
}

async function three() {
  const [donkey, farquad, fiona] = await Promise.all(NAMES.map((name) => fleet.node(name)));
  if (donkey === undefined || farquad === undefined || fiona === undefined) throw new Error('three nodes');
  return { donkey, farquad, fiona };
}

/** A job on this node whose command runs until the test ends it. */
async function busy(name: string) {
  const node = await fleet.node(name);
  const id = await fleet.startJob({ command: 'held', nodes: [name] });
  await fleet.nodeIs(id, name, 'running');
  return { node, id };
}

async function runsAnotherJob(name: string): Promise<void> {
  await fleet.available(name);
  const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: [name] });
  expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { succeeded: [name] } });
}

describe('one agent', () => {
  test('E2E-2 one agent is counted', async () => {
    await fleet.node('DONKEY');
    await until('one node', async () => (await fleet.nodeCount()) === 1);
  });

  test('E2E-4 a simple job is complete and ran once', async () => {
    const donkey = await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['DONKEY'] });
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({
      status: 'complete',
      nodes: { succeeded: ['DONKEY'] },
    });
    expect(donkey.sentTypes().slice(-3)).toEqual(['ack_commit', 'ack_run', 'succeeded']);
    expect(donkey.got('run')).toHaveLength(1);
  });

  test('E2E-5 an agent stopped and restarted while running a job', async () => {
    const { node, id } = await busy('DONKEY');
    node.stop();
    await fleet.connect('DONKEY');
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { crashed: ['DONKEY'] } });
    await runsAnotherJob('DONKEY');
  });

  test('E2E-6 the command exits 1', async () => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'this_oughta_fail', nodes: ['DONKEY'] });
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { failed: ['DONKEY'] } });
  });

  test('E2E-7 differs by N4: an agent that shut down is down, and no longer counted', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.stop();
    await fleet.down('DONKEY');
    await until('no node', async () => (await fleet.nodeCount()) === 0);
  });

  test.each([
    ['E2E-8 its own job id', {}],
    ['E2E-10 its own job id and a timestamp 100 s old', { timestamp: new Date(Date.now() - 100_000).toUTCString() }],
    ['E2E-11 job id a', { job_id: 'a' }],
  ])('a running agent sends nack_commit: %s', async (_, fields) => {
    const { node, id } = await busy('DONKEY');
    node.send('nack_commit', { job_id: id, ...fields });
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { crashed: ['DONKEY'] } });
    await runsAnotherJob('DONKEY');
  });

  test('E2E-9 a running agent sends nack_commit with a timestamp 1000 s old: ignored', async () => {
    const { node, id } = await busy('DONKEY');
    node.send('nack_commit', { job_id: id, timestamp: new Date(Date.now() - 1_000_000).toUTCString() });
    node.command?.end(0);
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({
      status: 'complete',
      nodes: { succeeded: ['DONKEY'] },
    });
  });

  test('E2E-12 an idle agent sends aborted with an unknown job id: no abort comes back', async () => {
    const donkey = await fleet.node('DONKEY');
    const aborts = donkey.got('abort').length;
    donkey.send('aborted', { job_id: 'a' });
    await runsAnotherJob('DONKEY');
    expect(donkey.got('abort')).toHaveLength(aborts);
  });

  test('E2E-13 a job shorter than its run_timeout', async () => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['DONKEY'], run_timeout: 2 });
    expect(await fleet.jobIs(id, 'complete')).toMatchObject({ run_timeout: 2, nodes: { succeeded: ['DONKEY'] } });
  });

  test('E2E-14 a job longer than its run_timeout', async () => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'held', nodes: ['DONKEY'], run_timeout: 1 });
    expect(outcome(await fleet.jobIs(id, 'timed_out'))).toEqual({
      status: 'timed_out',
      nodes: { timed_out: ['DONKEY'] },
    });
    await runsAnotherJob('DONKEY');
  });

  test('E2E-15 an agent that never sends ack_commit', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.hooks.commit = () => false;
    const id = await fleet.startJob({ command: 'sleep 2', nodes: ['DONKEY'], voting_timeout: 1 });
    await donkey.waitFor('commit');
    expect(outcome(await fleet.job(id))).toEqual({ status: 'voting', nodes: { new: ['DONKEY'] } });
    expect(outcome(await fleet.jobIs(id, 'quorum_failed'))).toEqual({
      status: 'quorum_failed',
      nodes: { unavailable: ['DONKEY'] },
    });
    expect(await fleet.nodeState('DONKEY')).toMatchObject({ status: 'up' });
  });

  test('E2E-16 an agent dead and detected before the job', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.stop();
    await fleet.down('DONKEY');
    const id = await fleet.startJob({ command: 'sleep 2', nodes: ['DONKEY'] });
    expect(outcome(await fleet.jobIs(id, 'quorum_failed'))).toEqual({
      status: 'quorum_failed',
      nodes: { unavailable: ['DONKEY'] },
    });
  });

  test('E2E-17 an agent dead, not yet detected', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.stop();
    const id = await fleet.startJob({ command: 'sleep 2', nodes: ['DONKEY'] });
    expect(outcome(await fleet.jobIs(id, 'quorum_failed'))).toEqual({
      status: 'quorum_failed',
      nodes: { unavailable: ['DONKEY'] },
    });
  });

  test('E2E-18 an agent that dies right after ack_commit', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.hooks.run = () => {
      donkey.stop();
      return false;
    };
    const id = await fleet.startJob({ command: 'sleep 2', nodes: ['DONKEY'] });
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { crashed: ['DONKEY'] } });
  });

  test('E2E-19 an agent that dies when it starts running', async () => {
    const { node, id } = await busy('DONKEY');
    node.stop();
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { crashed: ['DONKEY'] } });
  });

  test('E2E-20 a command that is not in the whitelist', async () => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'bogus', nodes: ['DONKEY'] });
    expect(outcome(await fleet.jobIs(id, 'quorum_failed'))).toEqual({
      status: 'quorum_failed',
      nodes: { nacked: ['DONKEY'] },
    });
  });

  test.each([
    ['E2E-21', 'this_oughta_succeed', 'succeeded'],
    ['E2E-22', 'this_oughta_fail', 'failed'],
  ])('%s the short name %s', async (_, command, status) => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command, nodes: ['DONKEY'] });
    expect(await fleet.jobIs(id, 'complete')).toMatchObject({ command, nodes: { [status]: ['DONKEY'] } });
  });

  test('E2E-61 an agent that reconfigures during a job', async () => {
    const { node, id } = await busy('DONKEY');
    await node.reconfigure();
    await node.waitFor('ack');
    node.command?.end(0);
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({
      status: 'complete',
      nodes: { succeeded: ['DONKEY'] },
    });
  });

  test('E2E-63 a well-formed but unknown job id', async () => {
    expect((await fleet.api.get(`pushy/jobs/${'a'.repeat(32)}`)).status).toBe(404);
  });
});

describe('options', () => {
  test('a commit carries the options as given, run does not (sheet §9.10)', async () => {
    const donkey = await fleet.node('DONKEY');
    const options = { user: 'daemon', dir: '/tmp', env: { E1: 'one' }, file: 'raw:text' };
    const id = await fleet.startJob({
      command: 'this_oughta_succeed',
      nodes: ['DONKEY'],
      ...options,
      capture_output: true,
    });
    await fleet.jobIs(id, 'complete');
    expect(donkey.got('commit').at(-1)).toMatchObject({
      job_id: id,
      command: 'this_oughta_succeed',
      capture: true,
      server: expect.any(String),
      ...options,
    });
    expect(Object.keys(donkey.got('run').at(-1) ?? {}).sort()).toEqual(['job_id', 'sequence', 'timestamp', 'type']);
  });

  test('a commit leaves absent options out (sheet §9.10)', async () => {
    const donkey = await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['DONKEY'] });
    await fleet.jobIs(id, 'complete');
    expect(Object.keys(donkey.got('commit').at(-1) ?? {}).sort()).toEqual([
      'capture',
      'command',
      'job_id',
      'sequence',
      'server',
      'timestamp',
      'type',
    ]);
  });

  test('E2E-31 a file of 1000000 characters', async () => {
    const body = { command: 'x', nodes: ['DONKEY'], file: `raw:${'a'.repeat(1_000_000)}` };
    expect((await fleet.api.post('pushy/jobs', body)).status).toBe(413);
  });

  test('E2E-32 a file of 100001 characters', async () => {
    const body = { command: 'x', nodes: ['DONKEY'], file: `raw:${'a'.repeat(100_001)}` };
    expect((await fleet.api.post('pushy/jobs', body)).status).toBe(400);
  });

  test('E2E-33 the job shows user, dir and env', async () => {
    const options = { user: 'daemon', dir: '/tmp', env: { E1: 'one' } };
    const job = await fleet.job(await fleet.startJob({ command: 'x', nodes: ['NOBODY'], ...options }));
    expect(job).toMatchObject(options);
    expect(job).not.toHaveProperty('file_specified');
  });

  test('E2E-34, 35 the job shows that it has a file, or the file when asked for', async () => {
    const id = await fleet.startJob({ command: 'x', nodes: ['NOBODY'], file: 'raw:text' });
    const plain = await fleet.job(id);
    expect(plain).toMatchObject({ file_specified: true });
    for (const key of ['user', 'dir', 'env', 'file']) expect(plain).not.toHaveProperty(key);
    const whole = (await fleet.api.get(`pushy/jobs/${id}?include_file=true`)).json;
    expect(whole).toMatchObject({ file: 'raw:text' });
    expect(whole).not.toHaveProperty('file_specified');
  });
});

describe('an agent that comes back', () => {
  test.each([
    ['E2E-45, 47 quickly', false],
    ['E2E-46, 48 after it was found down', true],
  ])('%s runs a job', async (_, detected) => {
    const before = await fleet.node('DONKEY');
    before.stop();
    if (detected) await fleet.down('DONKEY');
    await fleet.node('DONKEY');
    await runsAnotherJob('DONKEY');
  });

  test('E2E-62 differs by N10: after a server restart the job is complete, its lost node crashed', async () => {
    const { node, id } = await busy('DONKEY');
    await fleet.restartServer();
    // A deployed agent does not ask for new keys while it runs a job (sheet §5.5), so it cannot tell the server.
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { crashed: ['DONKEY'] } });
    node.command?.end(0);
    await until('the agent to follow the new server', () => node.reconfigured > 0);
    await runsAnotherJob('DONKEY');
  });
});

describe('three agents', () => {
  test('E2E-49..51 are counted: three, two when one stops, none when all stop', async () => {
    const { donkey, farquad, fiona } = await three();
    await until('three nodes', async () => (await fleet.nodeCount()) === 3);
    donkey.stop();
    await until('two nodes', async () => (await fleet.nodeCount()) === 2);
    farquad.stop();
    fiona.stop();
    await until('no node', async () => (await fleet.nodeCount()) === 0);
  });

  test('E2E-52 a job on three', async () => {
    await three();
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: NAMES });
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({ status: 'complete', nodes: { succeeded: NAMES } });
  });

  test('E2E-53 DONKEY fails, the others succeed', async () => {
    await three();
    const id = await fleet.startJob({ command: 'fails on DONKEY', nodes: NAMES });
    expect(outcome(await fleet.jobIs(id, 'complete'))).toEqual({
      status: 'complete',
      nodes: { failed: ['DONKEY'], succeeded: ['FARQUAD', 'FIONA'] },
    });
  });

  test('E2E-54 FARQUAD and FIONA are busy; a new job on all three, quorum 2', async () => {
    const { farquad, fiona } = await three();
    const first = await fleet.startJob({ command: 'held', nodes: ['FARQUAD', 'FIONA'] });
    await Promise.all([farquad.waitState('running'), fiona.waitState('running')]);
    const second = await fleet.startJob({ command: 'this_oughta_succeed', nodes: NAMES, quorum: 2 });
    expect(outcome(await fleet.jobIs(second, 'quorum_failed'))).toEqual({
      status: 'quorum_failed',
      nodes: { nacked: ['FARQUAD', 'FIONA'], was_ready: ['DONKEY'] },
    });
    farquad.command?.end(0);
    fiona.command?.end(0);
    expect(outcome(await fleet.jobIs(first, 'complete'))).toEqual({
      status: 'complete',
      nodes: { succeeded: ['FARQUAD', 'FIONA'] },
    });
  });

  test('E2E-55 DONKEY is busy; a separate job on the other two', async () => {
    const { donkey } = await three();
    const first = await fleet.startJob({ command: 'held', nodes: ['DONKEY'] });
    await donkey.waitState('running');
    const second = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['FARQUAD', 'FIONA'] });
    await fleet.jobIs(second, 'complete');
    donkey.command?.end(0);
    await fleet.jobIs(first, 'complete');
  });

  test.each([
    [
      'E2E-56 a job on all three, quorum 2',
      { nodes: NAMES, quorum: 2 },
      { status: 'complete', nodes: { nacked: ['DONKEY'], succeeded: ['FARQUAD', 'FIONA'] } },
    ],
    [
      'E2E-57 a job on DONKEY and FIONA, quorum 2',
      { nodes: ['DONKEY', 'FIONA'], quorum: 2 },
      { status: 'quorum_failed', nodes: { nacked: ['DONKEY'], was_ready: ['FIONA'] } },
    ],
    [
      'E2E-58 a job on all three, default quorum',
      { nodes: NAMES },
      { status: 'quorum_failed', nodes: { nacked: ['DONKEY'], was_ready: ['FARQUAD', 'FIONA'] } },
    ],
    ['E2E-59 another job on DONKEY', { nodes: ['DONKEY'] }, { status: 'quorum_failed', nodes: { nacked: ['DONKEY'] } }],
  ])('DONKEY is busy: %s', async (_, job, expected) => {
    const { donkey } = await three();
    const first = await fleet.startJob({ command: 'held', nodes: ['DONKEY'] });
    await donkey.waitState('running');
    const second = await fleet.startJob({ command: 'this_oughta_succeed', ...job });
    expect(outcome(await fleet.jobIs(second, expected.status))).toEqual(expected);
    donkey.command?.end(0);
    expect(outcome(await fleet.jobIs(first, 'complete'))).toEqual({
      status: 'complete',
      nodes: { succeeded: ['DONKEY'] },
    });
  });
});
