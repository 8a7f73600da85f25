import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { INTERVAL, ORG, type TestAgent } from '../../../nodes/test/support/nodes-fixture.js';
import { ownerAspect } from '../../src/ownership/aspect.js';
import { type OwnedFixture, startOwned } from '../support/ownership-fixture.js';

let fixture: OwnedFixture;
let agent: TestAgent;

beforeEach(async () => {
  fixture = await startOwned();
  agent = await fixture.agent('web1');
});
afterEach(() => fixture.close());

const row = async (name = 'web1') =>
  fixture.store.read
    .selectFrom('push_node_owners')
    .selectAll()
    .where('org_id', '=', ORG.id)
    .where('node', '=', name)
    .executeTakeFirst();
const owner = (name = 'web1') => fixture.owners.ownerOf(ORG.id, name);
const claim = (jobId: string, ...names: string[]) => {
  fixture.jobs.live.add(jobId);
  return fixture.owners.claim(ORG.id, jobId, names);
};

test('nodes are counted by whose they are', async () => {
  agent.configure();
  agent.beat();
  await fixture.agent('web2').then((other) => other.configure());
  expect(await fixture.count('muster_nodes', { status: 'up', owner: 'rehab' })).toBe(1);
  expect(await fixture.count('muster_nodes', { status: 'down', owner: 'down' })).toBe(1);
});

describe('coming up', () => {
  test('a node that was never up is nobody’s', () => {
    agent.configure();
    expect(owner()).toEqual({ kind: 'down' });
    expect(fixture.nodes.registry.attributes(agent.view)).toMatchObject({ availability: 'unavailable' });
  });

  test('its first heartbeat brings it up and into rehab, and one abort is sent at once', async () => {
    agent.configure();
    agent.beat();
    expect(owner()).toMatchObject({ kind: 'rehab', reason: 'it came up' });
    await fixture.stored();
    expect(agent.heard).toEqual(['welcome', 'abort']);
  });

  test('the transition is stored before the abort is sent', async () => {
    agent.configure();
    agent.beat();
    expect(agent.heard).toEqual(['welcome']);
    await fixture.stored();
    expect(agent.heard).toContain('abort');
    expect(await row()).toMatchObject({ owner: 'rehab', reason: 'it came up', server: 'server-1' });
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
    expect(owner()).toEqual({ kind: 'idle' });
    agent.beat();
    fixture.clock.advance(INTERVAL);
    expect(agent.heard).toHaveLength(5);
  });

  test('an agent that is still killing its command stays in rehab', async () => {
    agent.configure();
    agent.beat();
    agent.send({ type: 'aborted', jobId: 'j0', from: 'terminating', settled: false });
    expect(owner()?.kind).toBe('rehab');
  });
});

describe('going down', () => {
  test('a node that is silent is nobody’s, and its job is told', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.clock.advance(4 * INTERVAL);
    expect(owner()).toEqual({ kind: 'down' });
    expect(fixture.jobs.told).toEqual(['j1 web1 down']);
    await fixture.stored();
    expect(await row()).toMatchObject({ owner: 'down', job_id: null });
  });

  test('so is one that says it stops, and it is in rehab when it comes back', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.send({ type: 'stopping' });
    expect(owner()).toEqual({ kind: 'down' });
    expect(fixture.jobs.told).toEqual(['j1 web1 down']);
    agent.configure();
    agent.beat();
    expect(owner()).toMatchObject({ kind: 'rehab' });
  });

  test('messages from a node that is down are dropped', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.clock.advance(5 * INTERVAL);
    fixture.jobs.told.length = 0;
    agent.send({ type: 'ack', jobId: 'j1' });
    expect(fixture.jobs.told).toEqual([]);
    expect(owner()?.kind).toBe('down');
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
      web1: { kind: 'claimed' },
      web2: { kind: 'rehab' },
      web3: { kind: 'down' },
      web4: { kind: 'busy', jobId: 'j0' },
      nobody: { kind: 'unknown' },
    });
    expect(owner()).toEqual({ kind: 'job', jobId: 'j1' });
    await fixture.stored();
    expect(await row()).toMatchObject({ owner: 'job', job_id: 'j1' });
  });

  test('messages and heartbeats of the node reach its job in order', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.send({ type: 'ack', jobId: 'j1' });
    agent.beat('j1');
    agent.send({ type: 'started', jobId: 'j1' });
    expect(fixture.jobs.told).toEqual(['j1 web1 ack', 'j1 web1 heartbeat j1', 'j1 web1 started']);
  });

  test('a released node is idle again; a job that does not own it cannot release it', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.owners.release(ORG.id, 'j2', 'web1', 'idle', 'mistake');
    expect(owner()?.kind).toBe('job');
    fixture.owners.release(ORG.id, 'j1', 'web1', 'idle', 'succeeded');
    expect(owner()?.kind).toBe('idle');
  });

  test('a job may release its node while it is being told', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.jobs.message = (jobId, node) => fixture.owners.release(ORG.id, jobId, node, 'rehab', 'refused by the job');
    agent.send({ type: 'nack', jobId: 'j1', reason: 'busy', currentJobId: null });
    expect(owner()).toMatchObject({ kind: 'rehab', reason: 'refused by the job' });
    await fixture.stored();
    expect(agent.heard).toEqual(['abort']);
  });

  test('a wrong message from an idle node sends it to rehab', async () => {
    await agent.becomeIdle();
    agent.send({ type: 'started', jobId: 'j9' });
    expect(owner()).toMatchObject({ kind: 'rehab', reason: 'it sent started while idle' });
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
    expect(owner()).toMatchObject({ reason: 'it reported a job that is over' });
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
    expect(fixture.jobs.told).toEqual([]);
    agent.send({ type: 'aborted', jobId: null, from: 'ready', settled: true });
    expect(fixture.jobs.told).toEqual(['j1 web1 aborted']);
  });
});

describe('restarts', () => {
  test('a new incarnation ends what its job was doing, then the node is reset', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.incarnation = 'incarnation-2';
    agent.connect();
    agent.beat();
    expect(fixture.jobs.told).toEqual(['j1 web1 restarted crash']);
    expect(owner()).toMatchObject({ kind: 'rehab', reason: 'its agent crashed and came back' });
    await fixture.stored();
    expect(agent.heard).toEqual(['welcome', 'abort']);
  });

  test('a clean restart under the same incarnation ends a command in flight, too', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    agent.send({ type: 'ready', start: 'clean' });
    expect(fixture.jobs.told).toEqual(['j1 web1 restarted clean']);
  });

  test('another key and another incarnation mean that the node was reinstalled', async () => {
    await agent.becomeIdle();
    const replacement = await fixture.agent('web1', { key: 2 });
    replacement.incarnation = 'incarnation-2';
    replacement.configure();
    replacement.beat();
    expect(owner()).toMatchObject({ kind: 'rehab', reason: 'it was reinstalled' });
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
    fixture = await fixture.restart((owners) => owners.readopt(ORG.id, 'j1', 'web2'));
    fixture.jobs.live.add('j1');

    expect(['web1', 'web2', 'web3'].map((name) => [name, owner(name)?.kind])).toEqual([
      ['web1', 'rehab'],
      ['web2', 'job'],
      ['web3', 'down'],
    ]);
    expect(await fixture.count('muster_invariant_violations_total')).toBe(0);
  });

  test('a node that comes back with the same incarnation keeps its place in the job', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture = await fixture.restart((owners) => owners.readopt(ORG.id, 'j1', 'web1'));
    fixture.jobs.live.add('j1');
    agent = await fixture.agent('web1');
    agent.configure();
    agent.beat('j1');
    expect(fixture.jobs.told).toEqual(['j1 web1 heartbeat j1']);
  });

  test('one with another incarnation does not', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture = await fixture.restart((owners) => owners.readopt(ORG.id, 'j1', 'web1'));
    agent = await fixture.agent('web1');
    agent.incarnation = 'incarnation-2';
    agent.configure();
    agent.beat('j1');
    expect(fixture.jobs.told).toEqual(['j1 web1 restarted crash']);
  });

  test('a node whose row was stored without that of its owner is down, or in rehab', async () => {
    await agent.becomeIdle();
    const silent = await fixture.agent('web2');
    await silent.becomeIdle();
    await fixture.store.transact(async (trx) => {
      await trx.updateTable('push_node_owners').set({ owner: 'down' }).where('node', '=', 'web1').execute();
      await trx.updateTable('nodes').set({ status: 'down' }).where('name', '=', 'web2').execute();
    });
    fixture = await fixture.restart();
    expect(['web1', 'web2'].map((name) => owner(name)?.kind)).toEqual(['rehab', 'down']);
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
      expect(owner()).toMatchObject({ kind: 'rehab', reason: 'the server was restarted' });
      expect(fixture.owners.awaitsNodes).toBe(true);
      agent.beat();
      await fixture.stored();
      expect(owner()?.kind).toBe('idle');
      expect(fixture.owners.awaitsNodes).toBe(false);
      expect(agent.heard).not.toContain('abort');
    });

    test('one that runs something, or was restarted meanwhile, is reset', async () => {
      await agent.becomeIdle();
      await back();
      agent.beat('j1');
      expect(owner()?.kind).toBe('rehab');
      agent.incarnation = 'incarnation-2';
      agent.beat();
      agent.beat();
      expect(owner()).toMatchObject({ kind: 'rehab', reason: 'its agent crashed and came back' });
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
      expect(owner()?.kind).toBe('rehab');
      await fixture.stored();
      expect(agent.heard).toEqual(['welcome', 'abort']);
    });
  });
});

describe('the invariant', () => {
  test('a node owned by a job that is over is counted and healed', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    fixture.jobs.live.delete('j1');
    fixture.clock.advance(INTERVAL);
    expect(owner()?.kind).toBe('rehab');
    expect(await fixture.count('muster_invariant_violations_total')).toBe(1);
  });
});

describe('deployed agents (chef2)', () => {
  test('they come up, and their jobs hear their heartbeats', async () => {
    agent = await fixture.agent('old1', { dialect: 'chef2' });
    await agent.becomeIdle();
    expect(owner('old1')?.kind).toBe('idle');
    claim('j1', 'old1');
    agent.beat('j1');
    expect(fixture.jobs.told).toEqual(['j1 old1 heartbeat j1']);
  });
});

describe('deletion', () => {
  test('a deleted node is nobody’s any more, and its job is told', async () => {
    await agent.becomeIdle();
    claim('j1', 'web1');
    await fixture.nodes.organizationRemoved(ORG.id);
    await fixture.stored();
    expect([owner(), await row()]).toEqual([undefined, undefined]);
    expect(fixture.jobs.told).toEqual(['j1 web1 down']);
  });

  test('what a deletion that cannot be stored has kept from being stored is stored then', async () => {
    await agent.becomeIdle();
    let fail: (error: Error) => void = () => undefined;
    const outage = vi.spyOn(fixture.store, 'transact').mockReturnValueOnce(
      new Promise((_, reject) => {
        fail = reject;
      }),
    );
    const deleting = fixture.nodes.organizationRemoved(ORG.id);
    claim('j1', 'web1');
    fail(new Error('disk full'));
    await expect(deleting).rejects.toThrow('disk full');
    outage.mockRestore();
    await fixture.stored();
    expect([owner(), (await row())?.job_id]).toEqual([{ kind: 'job', jobId: 'j1' }, 'j1']);
  });
});

describe('waiting for a node', () => {
  const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string];
  const wait = (jobId: string) => {
    fixture.jobs.live.add(jobId);
    return fixture.owners.claim(ORG.id, jobId, ['web1'], true).get('web1');
  };
  const release = (jobId: string, to: 'idle' | 'rehab' = 'idle') =>
    fixture.owners.release(ORG.id, jobId, 'web1', to, 'done');
  const place = (jobId: string) => fixture.owners.placeOf(ORG.id, jobId, 'web1');

  beforeEach(async () => {
    await agent.becomeIdle();
    claim(A, 'web1');
    fixture.jobs.told.length = 0;
  });

  test('first come, first served: whoever is told that it is free may claim it', () => {
    expect(wait(B)).toEqual({ kind: 'queued', reason: 'busy with another job' });
    expect(wait(C)).toMatchObject({ kind: 'queued' });
    expect([place(A), place(B), place(C)]).toEqual([0, 1, 2]);
    vi.spyOn(fixture.jobs, 'free').mockImplementation((jobId) => void wait(jobId));
    release(A);
    expect(owner()).toEqual({ kind: 'job', jobId: B });
    expect([place(B), place(C)]).toEqual([0, 1]);
    release(B);
    expect(owner()).toEqual({ kind: 'job', jobId: C });
  });

  test('who does not take it leaves it to the next', () => {
    wait(B);
    wait(C);
    release(A);
    expect(fixture.jobs.told).toEqual([`${B} web1 free`, `${C} web1 free`]);
    expect(owner()).toEqual({ kind: 'idle' });
  });

  test('who gives up is not asked', () => {
    wait(B);
    release(B);
    release(A);
    expect(fixture.jobs.told).toEqual([]);
  });

  test('rehab is waited through', async () => {
    wait(B);
    release(A, 'rehab');
    expect(fixture.jobs.told).toEqual([]);
    expect(wait(C)).toEqual({ kind: 'queued', reason: 'in rehab' });
    await fixture.stored();
    agent.send({ type: 'aborted', jobId: null, from: 'ready', settled: true });
    expect(fixture.jobs.told).toEqual([`${B} web1 free`, `${C} web1 free`]);
  });

  test('a node that goes down is nobody’s to wait for', async () => {
    wait(B);
    fixture.clock.advance(10 * INTERVAL);
    expect(owner()).toEqual({ kind: 'down' });
    expect(fixture.jobs.told).toEqual([`${A} web1 down`, `${B} web1 down`]);
    expect(wait(C)).toEqual({ kind: 'down' });
  });

  test('so many jobs may wait for a node', () => {
    for (let job = 0; job < 100; job++) expect(wait(`${job}`)).toMatchObject({ kind: 'queued' });
    expect(wait(C)).toEqual({ kind: 'busy', jobId: A });
  });

  test('the node says who waits', () => {
    wait(B);
    const { sentences } = ownerAspect((node) => fixture.owners.owned(node)).explain(agent.view, 0);
    expect(sentences).toContain(`Waiting for it: job ${B}.`);
  });
});
