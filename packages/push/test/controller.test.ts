import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { INTERVAL, ORG, type Parts, type TestAgent } from '../../nodes/test/support/nodes-fixture.js';
import { extentOf } from '../../platform/src/output/chunks.js';
import { createPushController } from '../src/controller/controller.js';
import { outputOf } from '../src/output.js';
import type { NodeOwners } from '../src/ownership/types.js';
import type { PushControllerService } from '../src/ports.js';
import { findJobNode } from '../src/repository/reads.js';
import { savePushJob, savePushJobNode } from '../src/repository/writes.js';
import type { PushJobSpec } from '../src/types.js';
import { type OwnedFixture, startOwned } from './support/ownership-fixture.js';
import { jobId, jobNodeRow, jobRow, SPEC } from './support/push-rows.js';

/** Push jobs on the real nodes layer and a real store; agents are driven by hand. */

const [A, B] = [jobId(0xa), jobId(0xb)];
let fixture: OwnedFixture;
let controller: PushControllerService;
let agent: TestAgent;

beforeEach(async () => {
  fixture = await startOwned((owners, parts) => void push(owners, parts));
  agent = await fixture.agent('web1');
});

afterEach(async () => {
  await controller.stop();
  expect(logged.splice(0)).toEqual([]);
  await fixture.stored();
  await fixture.store.transact(async (trx) => {
    for (const table of ['output_chunks', 'event_log', 'push_job_nodes', 'push_jobs'] as const)
      await trx.deleteFrom(table).execute();
  });
  await fixture.close();
});

const logged: string[] = [];

function push(owners: NodeOwners, { nodes, store, recorder, config }: Parts): PushControllerService {
  controller = createPushController({
    store,
    clock: {
      now: () => fixture.clock.now(),
      monotonic: () => fixture.clock.monotonic(),
      after: (ms, work) => fixture.clock.after(ms, work),
    },
    logger: { info: () => undefined, warn: () => undefined, error: (_, message) => void logged.push(message) },
    nodes: nodes.registry,
    owners,
    recorder,
    feed: { ended: () => undefined },
    counts: { jobEnded: () => undefined, jobNodeEnded: () => undefined },
    config,
  });
  return controller;
}

async function start(id: string, spec: Partial<PushJobSpec> = {}, nodes: readonly string[] = ['web1']): Promise<void> {
  await controller.start({ org: ORG, jobId: id, spec: { ...SPEC, ...spec }, requester: 'me', nodes, denied: [] });
  await fixture.stored();
}

/** kill -9 and, after a while, a new server on the same data. */
async function restart(outageMs = 0): Promise<void> {
  await controller.stop();
  fixture = await fixture.restart((owners, parts) => {
    fixture.clock.advance(outageMs);
    return push(owners, parts).load();
  });
  await fixture.stored();
}

/** The agent finds its way to the new server. */
async function returns(name: string): Promise<TestAgent> {
  const back = await fixture.agent(name);
  back.configure();
  return back;
}

async function standing(id: string, node = 'web1'): Promise<[string | undefined, string | null | undefined]> {
  await fixture.stored();
  const row = await findJobNode(fixture.store.read, id, node);
  return [row?.status, row?.reason];
}

const owner = () => fixture.owners.ownerOf(ORG.id, 'web1');

describe('recovery (Push Jobs §5.5.4, §5.6, N10)', () => {
  /** As the server leaves it that is killed between storing a job and beginning it. */
  const storeUnbegun = (id: string, spec: Partial<PushJobSpec> = {}) =>
    fixture.store.commit([
      savePushJob(jobRow({ id, org_id: ORG.id, status: 'new', phase: 'new', created_at: fixture.clock.now() }, spec)),
      savePushJobNode(jobNodeRow({ job_id: id, node: 'web1', status: 'new' })),
    ]);

  test('a job that was stored and not begun is begun, and gets its node when that was idle', async () => {
    await agent.becomeIdle();
    await storeUnbegun(A);
    await restart();
    agent = await returns('web1');
    agent.beat();
    await fixture.stored();
    await new Promise(setImmediate);
    expect(agent.heard).toContain('prepare');
    agent.send({ type: 'ack', jobId: A });
    expect(await standing(A)).toEqual(['ready', null]);
  });

  test('a job that was stored and not begun does not take the node of a running one', async () => {
    await agent.becomeIdle();
    await start(B);
    agent.send({ type: 'ack', jobId: B });
    agent.send({ type: 'started', jobId: B });
    await storeUnbegun(A);
    await restart();
    expect(owner()).toEqual({ kind: 'job', jobId: B });
    expect(await standing(A)).toEqual(['nacked', `busy with job ${B}`]);
    agent = await returns('web1');
    agent.beat(B);
    expect(await standing(B)).toEqual(['running', null]);
  });

  test('a job that was stored and not begun does not take a node out of rehab', async () => {
    agent.configure();
    agent.beat();
    await storeUnbegun(A);
    await fixture.stored();
    await restart();
    expect(owner()).toMatchObject({ kind: 'rehab' });
    expect(await standing(A)).toEqual(['unavailable', 'in rehab']);
  });

  test('the ack timeout does not pass while nodes are still finding the server again', async () => {
    await agent.becomeIdle();
    await start(A, { ackTimeout: 2 });
    await restart();
    fixture.clock.advance(5000);
    expect(await standing(A)).toEqual(['new', null]);
  });

  test('nor does the node timeout: what ended meanwhile is still told', async () => {
    await agent.becomeIdle();
    await start(A, { nodeTimeout: 1 });
    agent.send({ type: 'ack', jobId: A });
    await fixture.stored();
    agent.send({ type: 'started', jobId: A });
    await fixture.stored();
    await restart(60_000);
    fixture.clock.advance(4000);
    agent = await returns('web1');
    agent.beat(A);
    const result = { jobId: A, outcome: 'succeeded', exitCode: 0, signal: null, reason: null } as const;
    agent.send({ type: 'finished', ...result, output: null, bytes: null });
    expect(await standing(A)).toEqual(['succeeded', null]);
  });
});

describe('the node timeout', () => {
  /** Of the server, beyond that of an agent that ends the command itself. */
  const GRACE_MS = 10_000;
  const HOUR_MS = 3_600_000;

  /** The nodes are heard meanwhile. */
  function pass(ms: number, agents: readonly TestAgent[]): void {
    for (let left = ms; left > 0; left -= INTERVAL) {
      fixture.clock.advance(Math.min(left, INTERVAL));
      for (const each of agents) each.beat(A);
    }
  }

  test.each([
    ['forward', HOUR_MS],
    ['back', -HOUR_MS],
  ])('is as long when the clock is set %s', async (_, setMs) => {
    const other = await fixture.agent('web2');
    for (const each of [agent, other]) await each.becomeIdle();
    await start(A, { nodeTimeout: 5 }, ['web1', 'web2']);
    for (const each of [agent, other]) each.send({ type: 'ack', jobId: A });
    await fixture.stored();
    agent.send({ type: 'started', jobId: A });
    pass(4000, [agent, other]);
    other.send({ type: 'started', jobId: A });
    fixture.clock.set(setMs);
    pass(1000 + GRACE_MS - 1, [agent, other]);
    expect(await standing(A, 'web1')).toEqual(['running', null]);
    pass(1, [agent, other]);
    expect(await standing(A, 'web1')).toEqual(['timed_out', expect.any(String)]);
    pass(3999, [other]);
    expect(await standing(A, 'web2')).toEqual(['running', null]);
    pass(1, [other]);
    expect(await standing(A, 'web2')).toEqual(['timed_out', expect.any(String)]);
  });

  test('goes on over a restart, and is no longer than it was when the clock was set back meanwhile', async () => {
    await agent.becomeIdle();
    await start(A, { nodeTimeout: 60 });
    agent.send({ type: 'ack', jobId: A });
    await fixture.stored();
    agent.send({ type: 'started', jobId: A });
    await fixture.stored();
    fixture.clock.set(-HOUR_MS);
    await restart();
    agent = await returns('web1');
    agent.beat(A);
    pass(60_000 + GRACE_MS - 1, [agent]);
    expect(await standing(A)).toEqual(['running', null]);
    pass(1, [agent]);
    expect(await standing(A)).toEqual(['timed_out', expect.any(String)]);
  });
});

test('output that an earlier job left over is not kept as this job’s', async () => {
  await agent.becomeIdle();
  await start(A, { capture: true });
  agent.send({ type: 'ack', jobId: A });
  agent.send({ type: 'output', jobId: B, stream: 'stdout', offset: 0, data: Buffer.from('old') });
  agent.send({ type: 'output', jobId: A, stream: 'stdout', offset: 0, data: Buffer.from('new!') });
  await fixture.stored();
  expect(await extentOf(fixture.store.read, { ...outputOf(A, 'web1'), stream: 'stdout' })).toMatchObject({
    chunks: 1,
    bytes: 4,
  });
});

describe('captured output', () => {
  const told = async () => {
    await fixture.stored();
    return (await findJobNode(fixture.store.read, A, 'web1'))?.output_missing;
  };
  const result = { jobId: A, outcome: 'succeeded', exitCode: 0, signal: null, reason: null } as const;
  beforeEach(async () => {
    await agent.becomeIdle();
    await start(A, { capture: true });
    agent.send({ type: 'ack', jobId: A });
    await fixture.stored();
    agent.send({ type: 'started', jobId: A });
    agent.send({ type: 'output', jobId: A, stream: 'stdout', offset: 0, data: Buffer.from('begun') });
    await fixture.stored();
  });

  test('is whole when the node told how much there was', async () => {
    agent.send({ type: 'finished', ...result, output: null, bytes: { stdout: 5, stderr: 0 } });
    expect(await told()).toBeNull();
  });
  test('is not when the agent was stopped before it could hand it over', async () => {
    const stopped = { ...result, outcome: 'failed', exitCode: null, reason: 'agent stopped' } as const;
    agent.send({ type: 'finished', ...stopped, output: null, bytes: null });
    expect(await told()).toBe('agent stopped');
  });
  test('is not when the agent crashed', async () => {
    agent.send({ type: 'crashed', jobId: A });
    expect(await told()).toBe('the agent crashed while executing');
  });
});

test('an abort that will not be stored is not answered as if it were', async () => {
  await agent.becomeIdle();
  await start(A);
  await controller.stop();
  await expect(controller.abort(ORG.id, A, 'me')).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('a job that is aborted the moment it is stored never asks its nodes', async () => {
  await agent.becomeIdle();
  const starting = start(A);
  expect(await controller.abort(ORG.id, A, 'me')).toBe(true);
  await starting;
  expect(await standing(A)).toEqual(['unavailable', 'job aborted before the node voted']);
  expect([owner(), agent.heard]).toEqual([{ kind: 'idle' }, []]);
});

test('a defect in what leaves after a commit harms neither the server nor the job', async () => {
  await agent.becomeIdle();
  const { registry } = fixture.nodes;
  const send = registry.send.bind(registry);
  vi.spyOn(registry, 'send').mockImplementation((orgId, names, message) => {
    if (message.type === 'start') throw new Error('defect');
    send(orgId, names, message);
  });
  await start(A);
  agent.send({ type: 'ack', jobId: A });
  await fixture.stored();
  agent.send({ type: 'started', jobId: A });
  expect(await standing(A)).toEqual(['running', null]);
  expect(logged.splice(0)).toEqual(['the effects of a transition failed']);
});

test('a defect in who hears of events harms neither the server nor the job', async () => {
  await agent.becomeIdle();
  const forget = fixture.recorder.onStored(() => {
    throw new Error('defect');
  });
  await start(A);
  agent.send({ type: 'ack', jobId: A });
  expect(await standing(A)).toEqual(['ready', null]);
  forget();
  expect(fixture.logged.filter(({ level }) => level === 'error')).not.toEqual([]);
});

test('a start that a heartbeat makes the server repeat waits until the first one is stored', async () => {
  await agent.becomeIdle();
  const release = fixture.hold(({ statement, row }) => statement.table === 'push_job_nodes' && row.starting === 1);
  await start(A);
  agent.send({ type: 'ack', jobId: A });
  agent.send({ type: 'heartbeat', state: 'waiting', jobId: A, last: null });
  await fixture.stored();
  expect(agent.heard).toEqual(['prepare']);
  release();
  await vi.waitFor(() => expect(agent.heard).toEqual(['prepare', 'start', 'start']));
});
