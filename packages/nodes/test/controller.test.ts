import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Fixture, INTERVAL, nodesConfig, ORG, startNodes, type TestAgent } from './support/nodes-fixture.js';

let fixture: Fixture;
let agent: TestAgent;

beforeEach(async () => {
  fixture = await startNodes();
  agent = await fixture.agent('web1');
});
afterEach(() => fixture.close());

const row = async (name = 'web1') =>
  fixture.store.read
    .selectFrom('nodes')
    .selectAll()
    .where('org_id', '=', ORG.id)
    .where('name', '=', name)
    .executeTakeFirst();
const claim = (jobId: string, ...names: string[]) => {
  fixture.port.live.add(jobId);
  return fixture.nodes.registry.claim(ORG.id, jobId, names);
};

describe('coming up', () => {
  test('a node is known, and down, from its first configuration request', async () => {
    agent.configure();
    await fixture.stored();
    expect(agent.view).toMatchObject({ status: 'down', reason: 'never seen', owner: { kind: 'down' } });
    expect(await row()).toMatchObject({ status: 'down', server: 'server-1' });
  });

  test('its first heartbeat brings it up and into rehab, and one abort is sent at once', async () => {
    agent.configure();
    agent.beat();
    expect(agent.view).toMatchObject({ status: 'up', owner: { kind: 'rehab' } });
    await fixture.stored();
    expect(agent.heard).toEqual(['welcome', 'abort']);
  });

  test('the transition is stored before the abort is sent', async () => {
    agent.configure();
    agent.beat();
    expect(agent.heard).toEqual(['welcome']);
    await fixture.stored();
    expect(agent.heard).toContain('abort');
    expect(await row()).toMatchObject({
      status: 'up',
      owner: 'rehab',
      incarnation: 'incarnation-1',
      dialect: 'native',
    });
  });

  test('rehab aborts again every rehab interval until the node acknowledges', async () => {
    agent.configure();
    agent.beat();
    await fixture.stored();
    for (let round = 0; round < 3; round++) {
      fixture.clock.advance(INTERVAL);
      agent.beat();
    }
    expect(agent.heard).toEqual(['welcome', 'abort', 'abort', 'abort', 'abort']);
    agent.settle();
    expect(agent.view.owner).toEqual({ kind: 'idle' });
    agent.beat();
    fixture.clock.advance(INTERVAL);
    expect(agent.heard).toHaveLength(5);
  });

  test('an agent that is still killing its command stays in rehab', async () => {
    agent.configure();
    agent.beat();
    agent.send({ type: 'aborted', jobId: 'j0', from: 'terminating', settled: false });
    expect(agent.view.owner.kind).toBe('rehab');
  });

  test('facts and labels are stored when they change, also before the node is up', async () => {
    agent.configure();
    agent.send({ type: 'facts', facts: { os: 'linux', cpus: 8 }, labels: { role: 'web' } });
    await fixture.stored();
    expect(agent.view.facts).toEqual({ os: 'linux', cpus: 8 });
    expect(await row()).toMatchObject({ labels: '{"role":"web"}' });
    expect(fixture.nodes.registry.attributes(agent.view)).toEqual({
      os: 'linux',
      cpus: 8,
      role: 'web',
      name: 'web1',
      status: 'down',
      availability: 'unavailable',
      dialect: 'native',
    });
  });
});

describe('going down', () => {
  test('after offline_threshold silent intervals the node is down, and its job is told', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.clock.advance(3 * INTERVAL - 1);
    expect(agent.view.status).toBe('up');
    fixture.clock.advance(INTERVAL);
    expect(agent.view).toMatchObject({
      status: 'down',
      owner: { kind: 'down' },
      reason: 'no heartbeat for 3 intervals',
    });
    expect(fixture.port.told).toEqual(['j1 web1 down']);
    await fixture.stored();
    expect(await row()).toMatchObject({ status: 'down', owner: 'down', owner_job: null });
  });

  test('a node that says it stops is down at once, with that reason, and its job is told', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.send({ type: 'stopping' });
    expect(agent.view).toMatchObject({ status: 'down', owner: { kind: 'down' }, reason: 'its agent was stopped' });
    expect(fixture.port.told).toEqual(['j1 web1 down']);
    agent.configure();
    agent.beat();
    expect(agent.view).toMatchObject({ status: 'up', owner: { kind: 'rehab' } });
  });

  test('it needs online_threshold consecutive intervals to be up again, and then goes to rehab', async () => {
    await agent.becomeIdle();
    fixture.clock.advance(5 * INTERVAL);
    agent.beat();
    expect(agent.view.status).toBe('down');
    fixture.clock.advance(INTERVAL);
    agent.beat();
    expect(agent.view).toMatchObject({ status: 'up', owner: { kind: 'rehab' } });
  });

  test('messages from a node that is down are dropped', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.clock.advance(5 * INTERVAL);
    fixture.port.told.length = 0;
    agent.send({ type: 'ack', jobId: 'j1' });
    expect(fixture.port.told).toEqual([]);
    expect(agent.view.owner.kind).toBe('down');
  });
});

describe('jobs', () => {
  test('a claim takes idle nodes only, and says what the others are', async () => {
    await agent.becomeIdle();
    const inRehab = await fixture.agent('web2');
    inRehab.configure();
    inRehab.beat();
    const isDown = await fixture.agent('web3');
    isDown.configure();
    const busy = await fixture.agent('web4');
    await busy.becomeIdle();
    claim('j0', 'web4');

    const results = claim('j1', 'web1', 'web2', 'web3', 'web4', 'nobody');
    expect(Object.fromEntries(results)).toEqual({
      web1: { kind: 'claimed', incarnation: 'incarnation-1' },
      web2: { kind: 'rehab' },
      web3: { kind: 'down' },
      web4: { kind: 'busy', jobId: 'j0' },
      nobody: { kind: 'unknown' },
    });
    expect(agent.view).toMatchObject({ owner: { kind: 'job', jobId: 'j1' }, reason: 'busy with job j1' });
    await fixture.stored();
    expect(await row()).toMatchObject({ owner: 'job', owner_job: 'j1' });
  });

  test('messages and heartbeats of the node reach its job in order', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.send({ type: 'ack', jobId: 'j1' });
    agent.beat('j1');
    agent.send({ type: 'started', jobId: 'j1' });
    expect(fixture.port.told).toEqual(['j1 web1 ack', 'j1 web1 heartbeat j1', 'j1 web1 started']);
  });

  test('a released node is idle again; a job that does not own it cannot release it', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.nodes.registry.release(ORG.id, 'j2', 'web1', 'idle', 'mistake');
    expect(agent.view.owner.kind).toBe('job');
    fixture.nodes.registry.release(ORG.id, 'j1', 'web1', 'idle', 'succeeded');
    expect(agent.view.owner.kind).toBe('idle');
  });

  test('a job may release its node while it is being told', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.port.message = (jobId, node) =>
      fixture.nodes.registry.release(ORG.id, jobId, node, 'rehab', 'refused by the job');
    agent.send({ type: 'nack', jobId: 'j1', reason: 'busy', currentJobId: null });
    expect(agent.view).toMatchObject({ owner: { kind: 'rehab' }, reason: 'refused by the job' });
    await fixture.stored();
    expect(agent.heard).toEqual(['abort']);
  });

  test('a wrong message from an idle node sends it to rehab', async () => {
    await agent.becomeIdle();
    agent.send({ type: 'started', jobId: 'j9' });
    expect(agent.view).toMatchObject({ owner: { kind: 'rehab' }, reason: 'it sent started while idle' });
  });

  test('E2E-12: an idle node that sends aborted gets no abort back', async () => {
    await agent.becomeIdle();
    agent.send({ type: 'aborted', jobId: 'a', from: 'running', settled: true });
    fixture.clock.advance(INTERVAL);
    expect(agent.heard).toEqual([]);
  });

  test('an idle node that reports a dead job in its heartbeat is aborted', async () => {
    await agent.becomeIdle();
    agent.beat('dead');
    await fixture.stored();
    expect(agent.heard).toEqual(['abort']);
    expect(agent.view.reason).toBe('it reported a job that is over');
  });

  test('the second answer to two aborts of rehab does not disturb the next job', async () => {
    agent.configure();
    agent.beat();
    await fixture.stored();
    fixture.clock.advance(INTERVAL);
    expect(agent.heard).toEqual(['welcome', 'abort', 'abort']);
    agent.settle();
    claim('j1', 'web1');
    agent.settle();
    expect(fixture.port.told).toEqual([]);
    agent.send({ type: 'aborted', jobId: null, from: 'ready', settled: true });
    expect(fixture.port.told).toEqual(['j1 web1 aborted']);
  });
});

describe('restarts', () => {
  test('a new incarnation ends what its job was doing, then the node is reset', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.incarnation = 'incarnation-2';
    agent.connect();
    agent.beat();
    expect(fixture.port.told).toEqual(['j1 web1 restarted crash']);
    expect(agent.view).toMatchObject({ owner: { kind: 'rehab' }, incarnation: 'incarnation-2', lastEnd: 'crash' });
    await fixture.stored();
    expect(agent.heard).toEqual(['welcome', 'abort']);
  });

  test('a clean restart under the same incarnation ends a command in flight, too', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.send({ type: 'ready', start: 'clean' });
    expect(fixture.port.told).toEqual(['j1 web1 restarted clean']);
    expect(agent.view.lastEnd).toBe('clean');
  });

  test('another key and another incarnation mean that the node was reinstalled', async () => {
    await agent.becomeIdle();
    const replacement = await fixture.agent('web1', { key: 2 });
    replacement.incarnation = 'incarnation-2';
    replacement.configure();
    replacement.beat();
    expect(agent.view).toMatchObject({ lastEnd: 'reinstalled', owner: { kind: 'rehab' } });
  });
});

describe('server restart (§5.5.4, N10)', () => {
  test('up nodes go to rehab, down nodes stay down, and unfinished jobs keep theirs', async () => {
    await agent.becomeIdle();
    const inJob = await fixture.agent('web2');
    await inJob.becomeIdle();
    claim('j1', 'web2');
    const isDown = await fixture.agent('web3');
    isDown.configure();
    fixture = await fixture.restart((nodes) => nodes.registry.readopt(ORG.id, 'j1', 'web2'));
    fixture.port.live.add('j1');

    expect(fixture.nodes.registry.list(ORG.id).map((node) => [node.name, node.status, node.owner.kind])).toEqual([
      ['web1', 'up', 'rehab'],
      ['web2', 'up', 'job'],
      ['web3', 'down', 'down'],
    ]);
    expect(await fixture.count('muster_invariant_violations_total')).toBe(0);
  });

  test('a node that comes back with the same incarnation keeps its place in the job', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture = await fixture.restart((nodes) => nodes.registry.readopt(ORG.id, 'j1', 'web1'));
    fixture.port.live.add('j1');
    agent = await fixture.agent('web1');
    agent.configure();
    agent.beat('j1');
    expect(fixture.port.told).toEqual(['j1 web1 heartbeat j1']);
  });

  test('one with another incarnation does not', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture = await fixture.restart((nodes) => nodes.registry.readopt(ORG.id, 'j1', 'web1'));
    agent = await fixture.agent('web1');
    agent.incarnation = 'incarnation-2';
    agent.configure();
    agent.beat('j1');
    expect(fixture.port.told).toEqual(['j1 web1 restarted crash']);
  });

  describe('after a clean stop', () => {
    const back = async (): Promise<void> => {
      await fixture.stored();
      fixture = await fixture.restart();
      agent = await fixture.agent('web1');
      agent.configure();
    };

    test('a node that was idle is idle again with its first heartbeat, and is not reset', async () => {
      await agent.becomeIdle();
      await back();
      expect(agent.view.owner).toMatchObject({ kind: 'rehab', reason: 'the server was restarted' });
      agent.beat();
      await fixture.stored();
      expect(agent.view.owner.kind).toBe('idle');
      expect(agent.heard).not.toContain('abort');
    });

    test('one that runs something, or was restarted meanwhile, is reset', async () => {
      await agent.becomeIdle();
      await back();
      agent.beat('j1');
      expect(agent.view.owner.kind).toBe('rehab');
      agent.incarnation = 'incarnation-2';
      agent.beat();
      agent.beat();
      expect(agent.view.owner).toMatchObject({ kind: 'rehab', reason: 'its agent crashed and came back' });
    });

    test('is good for one start: a server that is killed then resets the node, as soon as it is heard', async () => {
      await agent.becomeIdle();
      await back();
      agent.beat();
      await fixture.stored();
      fixture = await fixture.crash();
      agent = await fixture.agent('web1');
      agent.configure();
      agent.beat();
      expect(agent.view.owner.kind).toBe('rehab');
      expect(agent.heard).toEqual(['welcome', 'abort']);
    });
  });

  test('the offline clock starts once a node can have found its way back, not with the last heartbeat', async () => {
    await agent.becomeIdle();
    fixture.clock.advance(2 * INTERVAL);
    fixture = await fixture.restart();
    // One interval to hear the server again, one of splay, two of its online threshold, and then two in silence.
    fixture.clock.advance(6 * INTERVAL);
    expect(fixture.nodes.registry.get(ORG.id, 'web1')?.status).toBe('up');
    fixture.clock.advance(INTERVAL);
    expect(fixture.nodes.registry.get(ORG.id, 'web1')?.status).toBe('down');
  });
});

describe('the invariant', () => {
  test('a node owned by a job that is over is counted and healed', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.port.live.delete('j1');
    fixture.clock.advance(INTERVAL);
    expect(agent.view.owner.kind).toBe('rehab');
    expect(await fixture.count('muster_invariant_violations_total')).toBe(1);
  });
});

describe('deployed agents (chef2)', () => {
  test('they come up, and their jobs hear their heartbeats', async () => {
    agent = await fixture.agent('old1', { dialect: 'chef2' });
    await agent.becomeIdle();
    expect(agent.view.owner.kind).toBe('idle');
    claim('j1', 'old1');
    agent.beat('j1');
    expect(fixture.port.told).toEqual(['j1 old1 heartbeat j1']);
  });

  test('a repeated configuration request gets the same key', async () => {
    agent = await fixture.agent('old1', { dialect: 'chef2' });
    agent.configure();
    const { key } = agent.session;
    agent.configure();
    expect(Buffer.from(agent.session.key).equals(key)).toBe(true);
  });
});

describe('the server’s heartbeat', () => {
  test('goes out every interval', () => {
    expect(fixture.transport.published).toHaveLength(1);
    fixture.clock.advance(3 * INTERVAL);
    expect(fixture.transport.published).toHaveLength(4);
  });
});

describe('sending', () => {
  test('to nodes without a connection is dropped and counted', async () => {
    agent.configure();
    fixture.nodes.registry.send(ORG.id, ['web1', 'nobody'], { type: 'abort' });
    expect(await fixture.count('muster_sends_dropped_total', { cause: 'not_connected' })).toBe(1);
  });

  test('a message without a form in the node’s dialect is dropped and counted', async () => {
    agent = await fixture.agent('old1', { dialect: 'chef2' });
    await agent.becomeIdle();
    fixture.nodes.registry.send(ORG.id, ['old1'], { type: 'reconfigure' });
    expect(agent.heard).toEqual([]);
    expect(await fixture.count('muster_sends_dropped_total', { cause: 'no_form' })).toBe(1);
  });
});

describe('deletion', () => {
  test('a deleted node is forgotten, and its messages are dropped', async () => {
    await agent.becomeIdle();
    await fixture.nodes.organizationRemoved(ORG.id);
    expect(fixture.nodes.registry.get(ORG.id, 'web1')).toBeUndefined();
    expect(await row()).toBeUndefined();
    agent.beat();
    expect(await fixture.count('muster_messages_dropped_total', { cause: 'unknown_org' })).toBe(1);
  });

  test('a node whose deletion cannot be stored is still there, and can be deleted later', async () => {
    await agent.becomeIdle();
    const outage = vi.spyOn(fixture.store, 'transact').mockRejectedValueOnce(new Error('disk full'));
    await expect(fixture.nodes.organizationRemoved(ORG.id)).rejects.toThrow('disk full');
    outage.mockRestore();
    claim('j1', 'web1');
    await fixture.stored();
    expect(await row()).toMatchObject({ owner_job: 'j1' });
    await fixture.nodes.organizationRemoved(ORG.id);
    expect([fixture.nodes.registry.get(ORG.id, 'web1'), await row()]).toEqual([undefined, undefined]);
    expect(fixture.port.told).toContain('j1 web1 down');
  });
});

test('thresholds and intervals come from the configuration', async () => {
  await fixture.close();
  fixture = await startNodes({
    config: nodesConfig((config) => {
      config.heartbeat.offline_threshold = 5;
      config.heartbeat.online_threshold = 1;
    }),
  });
  agent = await fixture.agent('web1');
  await agent.becomeIdle();
  fixture.clock.advance(4 * INTERVAL);
  expect(agent.view.status).toBe('up');
  fixture.clock.advance(2 * INTERVAL);
  expect(agent.view.status).toBe('down');
  agent.beat();
  expect(agent.view.status).toBe('up');
});
