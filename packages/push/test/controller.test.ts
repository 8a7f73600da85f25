import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { INTERVAL, ORG, type Parts, type TestAgent } from '../../nodes/test/support/nodes-fixture.js';
import { subjectOf } from '../../platform/src/feeds/index.js';
import { extentOf } from '../../platform/src/output/chunks.js';
import { createPushController } from '../src/controller/controller.js';
import { PUSH_FEED } from '../src/events.js';
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
  await expect.poll(() => agent.heard).toEqual(['prepare', 'start', 'start']);
});

test('readers of the output are told of the end when it is stored, and not when an earlier turn is', async () => {
  const other = await fixture.agent('web2');
  await agent.becomeIdle();
  await other.becomeIdle();
  await start(A, { capture: true }, ['web1', 'web2']);
  for (const each of [agent, other]) each.send({ type: 'ack', jobId: A });
  await fixture.stored();
  for (const each of [agent, other]) each.send({ type: 'started', jobId: A });
  await fixture.stored();
  const reader = controller.outputReaders.open(subjectOf(PUSH_FEED, A));
  const release = fixture.hold(({ statement, row }) => statement.table === 'push_jobs' && row.phase === 'finished');
  const result = { outcome: 'succeeded', exitCode: 0, signal: null, reason: null, output: null } as const;
  // Both before the first of them is stored.
  for (const each of [agent, other]) {
    each.send({ type: 'finished', jobId: A, ...result, bytes: { stdout: 0, stderr: 0 } });
  }
  expect(await standing(A)).toEqual(['succeeded', null]);
  expect(reader.take().ended).toBe(false);
  release();
  await expect.poll(() => reader.take().ended).toBe(true);
  controller.outputReaders.close(subjectOf(PUSH_FEED, A), reader);
});

test('of a node that has not answered it is said which files it fetches first', async () => {
  await agent.becomeIdle();
  const file = { sha256: 'a'.repeat(64), size: 3_000_000 };
  await start(A, { options: { uploads: [{ ...file, dest: '/srv/x', mode: 0o644 }] } });
  expect(controller.why(ORG.id, A)?.nodes).toMatchObject([
    {
      node: 'web1',
      since: fixture.clock.now(),
      reason: 'was asked and has not answered; before it does it fetches 1 file (2,930 KiB)',
    },
  ]);
});

describe('waiting for busy nodes', () => {
  let other: TestAgent;
  const patient = { waitTimeout: 600, quorum: 0 } as const;
  const finish = (from: TestAgent, jobId: string): void => {
    const result = { jobId, outcome: 'succeeded', exitCode: 0, signal: null, reason: null } as const;
    from.send({ type: 'finished', ...result, output: null, bytes: null });
  };
  async function runs(jobId: string, from = agent): Promise<void> {
    from.send({ type: 'ack', jobId });
    await fixture.stored();
    from.send({ type: 'started', jobId });
    await fixture.stored();
  }
  const why = (id: string) =>
    controller.why(ORG.id, id)?.nodes.map(({ node, waitsFor, reason }) => [node, waitsFor, reason]);

  beforeEach(async () => {
    other = await fixture.agent('web2');
    for (const each of [agent, other]) await each.becomeIdle();
    await start(A);
    await runs(A);
  });

  test('a job runs where it can, and on the busy node when that is free', async () => {
    await start(B, patient, ['web1', 'web2']);
    expect(await standing(B)).toEqual(['new', 'waits: busy with another job']);
    expect(why(B)).toEqual([
      ['web1', 'node', `is busy with job ${A}`],
      ['web2', 'vote', 'was asked and has not answered'],
    ]);
    const begun = fixture.clock.now();
    fixture.clock.advance(1000);
    // When the other was asked is not kept: it may have been waited for, too.
    expect(controller.why(ORG.id, B)?.nodes.map(({ since }) => since)).toEqual([begun, null]);
    await runs(B, other);
    finish(other, B);
    expect(await standing(B, 'web2')).toEqual(['succeeded', null]);
    expect(await standing(B)).toEqual(['new', 'waits: busy with another job']);
    finish(agent, A);
    expect(await standing(B)).toEqual(['new', null]);
    expect(agent.heard.filter((type) => type === 'prepare')).toHaveLength(2);
    await runs(B);
    finish(agent, B);
    expect(await standing(B)).toEqual(['succeeded', null]);
    expect(why(B)).toBeUndefined();
  });

  test('a quorum that needs the busy node waits for it', async () => {
    await start(B, { ...patient, quorum: 2 }, ['web1', 'web2']);
    other.send({ type: 'ack', jobId: B });
    await fixture.stored();
    expect(other.heard).not.toContain('start');
    expect(why(B)?.[1]).toEqual(['web2', 'quorum', 'is ready; the quorum is not decided yet']);
    expect(controller.why(ORG.id, B)?.why).toContain('It is decided when those that are waited for have voted.');
    finish(agent, A);
    await fixture.stored();
    await runs(B);
    expect(other.heard).toContain('start');
  });

  test('after a crash it waits again, and gets the node in its turn', async () => {
    const C = jobId(0xc);
    await start(C, patient);
    await start(B, patient);
    await restart();
    expect(await standing(B)).toEqual(['new', 'waits: busy with another job']);
    agent = await returns('web1');
    agent.beat(A);
    finish(agent, A);
    await fixture.stored();
    expect(owner()).toEqual({ kind: 'job', jobId: C });
    expect(await standing(B)).toEqual(['new', 'waits: busy with another job']);
    expect(why(B)).toEqual([['web1', 'node', `is busy with job ${C}`]]);
    await runs(C);
    finish(agent, C);
    await fixture.stored();
    expect(owner()).toEqual({ kind: 'job', jobId: B });
  });

  test('it is not waited for for ever', async () => {
    await start(B, { ...patient, waitTimeout: 1 });
    fixture.clock.advance(1000);
    expect(await standing(B)).toEqual(['nacked', 'busy with another job; not free within 1 s']);
    expect(controller.isLive(B)).toBe(true);
    finish(agent, A);
    await fixture.stored();
    expect(owner()).toEqual({ kind: 'idle' });
  });

  test('one that was asked and says nothing is given up', async () => {
    await start(B, { ...patient, votingTimeout: 3 });
    finish(agent, A);
    await fixture.stored();
    fixture.clock.advance(3000);
    expect(await standing(B)).toEqual(['unavailable', 'no answer within 3 s']);
  });

  test('an aborted job waits no longer', async () => {
    await start(B, patient);
    await controller.abort(ORG.id, B, 'me');
    expect(await standing(B)).toEqual(['unavailable', 'job aborted before the node voted']);
    finish(agent, A);
    await fixture.stored();
    expect(owner()).toEqual({ kind: 'idle' });
  });
});

describe('batches', () => {
  const nodes = ['web1', 'web2', 'web3'];
  let agents: TestAgent[];
  const starts = () => agents.map(({ heard }) => heard.filter((type) => type === 'start').length);
  const stage = () => fixture.store.read.selectFrom('push_jobs').select('stage').where('id', '=', A).executeTakeFirst();
  const held = async () => (JSON.parse((await stage())?.stage ?? 'null') as { hold: string | null } | null)?.hold;

  /** The node that was told to start runs the command to its end. */
  async function ends(index: number, outcome: 'succeeded' | 'failed' = 'succeeded'): Promise<void> {
    agents[index]?.send({ type: 'started', jobId: A });
    await fixture.stored();
    const result = { jobId: A, outcome, exitCode: outcome === 'failed' ? 1 : 0, signal: null, reason: null };
    agents[index]?.send({ type: 'finished', ...result, output: null, bytes: null });
    await fixture.stored();
  }

  beforeEach(async () => {
    agents = [agent, await fixture.agent('web2'), await fixture.agent('web3')];
    for (const each of agents) await each.becomeIdle();
  });

  async function begin(spec: Partial<PushJobSpec>): Promise<void> {
    await start(A, { quorum: 3, ...spec }, nodes);
    for (const each of agents) {
      each.send({ type: 'ack', jobId: A });
      await fixture.stored();
    }
  }

  test('one by one, after somebody has looked; a crash between two batches changes nothing', async () => {
    await begin({ batches: [1], batchConfirm: true });
    expect(starts()).toEqual([1, 0, 0]);
    expect(await controller.continue(ORG.id, A)).toBe('not_held');
    await ends(0);
    expect([starts(), await held()]).toEqual([[1, 0, 0], 'confirm']);
    await restart();
    agents = [];
    for (const name of nodes) agents.push(await returns(name));
    for (const each of agents.slice(1)) {
      each.send({ type: 'heartbeat', state: 'waiting', jobId: A, last: null });
    }
    await fixture.stored();
    expect([starts(), await held()]).toEqual([[0, 0, 0], 'confirm']);
    expect(controller.why(ORG.id, A)?.nodes[0]).toMatchObject({ node: 'web2', waitsFor: 'turn' });
    expect(await controller.continue(ORG.id, A, { batch: 1, excused: 1 })).toBe('other_hold');
    expect(await controller.continue(ORG.id, A, { batch: 1, excused: 0 })).toBe('continued');
    await fixture.stored();
    expect(starts()).toEqual([0, 1, 0]);
  });

  test('a pause ends by itself', async () => {
    await begin({ batches: [2], batchPause: 1 });
    expect(starts()).toEqual([1, 1, 0]);
    await ends(0);
    await ends(1);
    fixture.clock.advance(900);
    await fixture.stored();
    expect([starts(), await held()]).toEqual([[1, 1, 0], 'pause']);
    fixture.clock.advance(100);
    await fixture.stored();
    expect([starts(), await held()]).toEqual([[1, 1, 1], null]);
  });

  test('failures hold a job where it stands until it is continued', async () => {
    await begin({ concurrency: 1, maxFailures: 0, onFailures: 'hold' });
    await ends(0, 'failed');
    expect([starts(), await held()]).toEqual([[1, 0, 0], 'failures']);
    expect(await controller.continue(ORG.id, A)).toBe('continued');
    await ends(1);
    await ends(2);
    expect([await standing(A), await standing(A, 'web3')]).toEqual([
      ['failed', null],
      ['succeeded', null],
    ]);
  });
});
