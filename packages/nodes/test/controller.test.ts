import { normalizePublicKey } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { madeKey } from '../../signing/test/support/made-keys.js';
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
const told = () => fixture.listener.told.splice(0);

describe('coming up', () => {
  test('a node is known, and down, from its first configuration request', async () => {
    agent.configure();
    await fixture.stored();
    expect(agent.view).toMatchObject({ status: 'down', reason: 'never seen' });
    expect(await row()).toMatchObject({ status: 'down' });
  });

  test('its first heartbeat brings it up, which is stored, and listeners hear of it in order', async () => {
    agent.configure();
    agent.beat();
    expect(agent.view).toMatchObject({ status: 'up', reason: 'it came up' });
    expect(told()).toEqual(['web1 up', 'web1 heartbeat null', 'web1 reconnected']);
    await fixture.stored();
    expect(agent.heard).toEqual(['welcome']);
    expect(await row()).toMatchObject({ status: 'up', incarnation: 'incarnation-1', dialect: 'native' });
  });

  test('every listener hears, one after the other', async () => {
    const order: string[] = [];
    for (const name of ['first', 'second']) {
      fixture.nodes.registry.listen({
        up: () => void order.push(`${name} up`),
        heartbeat: () => void order.push(name),
      });
    }
    await agent.comeUp();
    expect(order).toEqual(['first up', 'second up', 'first', 'second']);
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
      via: 'agent',
      dialect: 'native',
    });
  });
});

describe('going down', () => {
  test('after offline_threshold silent intervals the node is down', async () => {
    await agent.comeUp();
    told();
    fixture.clock.advance(3 * INTERVAL - 1);
    expect(agent.view.status).toBe('up');
    fixture.clock.advance(INTERVAL);
    expect(agent.view).toMatchObject({ status: 'down', reason: 'no heartbeat for 3 intervals' });
    expect(told()).toEqual(['web1 down']);
    await fixture.stored();
    expect(await row()).toMatchObject({ status: 'down', reason: 'no heartbeat for 3 intervals' });
  });

  test('a node that says it stops is down at once, with that reason', async () => {
    await agent.comeUp();
    told();
    agent.send({ type: 'stopping' });
    expect(agent.view).toMatchObject({ status: 'down', reason: 'its agent was stopped' });
    expect(told()).toEqual(['web1 down']);
    agent.configure();
    agent.beat();
    expect(agent.view.status).toBe('up');
  });

  describe('when the key is taken away with which it came up', () => {
    const { fingerprint } = normalizePublicKey(madeKey(1).publicKey);
    let signs: boolean;
    beforeEach(async () => {
      await fixture.close();
      fixture = await startNodes({ signs: () => signs });
      agent = await fixture.agent('web1');
      await agent.comeUp();
      told();
    });

    test('a node without another one is down at once', async () => {
      signs = false;
      await fixture.nodes.keyRemoved(ORG, 'web1', fingerprint);
      expect(agent.view).toMatchObject({ status: 'down', reason: 'it has no key' });
      expect(told()).toEqual(['web1 down']);
      // What it has still sent says nothing.
      agent.beat();
      expect(agent.view.status).toBe('down');
    });

    test('a node with another one stays up, and comes back with it', async () => {
      signs = true;
      await fixture.nodes.keyRemoved(ORG, 'web1', fingerprint);
      expect(agent.view.status).toBe('up');
      expect(told()).toEqual([]);
    });
  });

  test('a node without an agent is down for its host, whichever way that is noticed', async () => {
    await agent.comeUp();
    agent.view.whyUnreached = () => 'its host is not reached';
    agent.send({ type: 'stopping' });
    expect(agent.view).toMatchObject({ status: 'down', reason: 'its host is not reached' });
    agent.configure();
    agent.beat();
    fixture.clock.advance(4 * INTERVAL);
    expect(agent.view).toMatchObject({ status: 'down', reason: 'its host is not reached' });
  });

  test('it needs online_threshold consecutive intervals to be up again', async () => {
    await agent.comeUp();
    fixture.clock.advance(5 * INTERVAL);
    agent.beat();
    expect(agent.view.status).toBe('down');
    fixture.clock.advance(INTERVAL);
    agent.beat();
    expect(agent.view.status).toBe('up');
  });
});

describe('restarts', () => {
  beforeEach(async () => {
    await agent.comeUp();
    told();
  });

  test('a new incarnation is told before what it then says', async () => {
    agent.incarnation = 'incarnation-2';
    agent.connect();
    agent.beat();
    expect(told()).toEqual(['web1 restarted crash', 'web1 heartbeat null', 'web1 reconnected']);
    expect(agent.view).toMatchObject({ incarnation: 'incarnation-2', lastEnd: 'crash' });
  });

  test('an agent that starts under the same incarnation tells how it ended', () => {
    agent.send({ type: 'ready', start: 'clean' });
    expect(told()).toEqual(['web1 ready']);
    expect(agent.view.lastEnd).toBe('clean');
  });

  test('another key and another incarnation mean that the node was reinstalled', async () => {
    const replacement = await fixture.agent('web1', { key: 2 });
    replacement.incarnation = 'incarnation-2';
    replacement.configure();
    replacement.beat();
    expect(told()[0]).toBe('web1 restarted reinstalled');
    expect(agent.view.lastEnd).toBe('reinstalled');
  });
});

test('after a restart of the server the offline clock starts once a node can have found its way back', async () => {
  await agent.comeUp();
  fixture.clock.advance(2 * INTERVAL);
  fixture = await fixture.restart();
  // One interval to hear the server again, one of splay, two of its online threshold, and then two in silence.
  fixture.clock.advance(6 * INTERVAL);
  expect(fixture.nodes.registry.get(ORG.id, 'web1')?.status).toBe('up');
  fixture.clock.advance(INTERVAL);
  expect(fixture.nodes.registry.get(ORG.id, 'web1')?.status).toBe('down');
});

describe('deployed agents (chef2)', () => {
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

test('of those who know of a new key of the server only agents are counted', async () => {
  const [other, box] = [await fixture.agent('web2'), await fixture.agent('box1')];
  for (const one of [agent, other, box]) await one.comeUp();
  box.view.via = 'ssh';
  fixture.clock.advance(1);
  const since = fixture.clock.now();
  agent.configure();
  expect(fixture.nodes.configuredSince(since)).toEqual({ up: 2, told: 1 });
});

describe('sending', () => {
  test('to nodes without a connection is dropped and counted', async () => {
    agent.configure();
    fixture.nodes.registry.send(ORG.id, ['web1', 'nobody'], { type: 'abort' });
    expect(await fixture.count('muster_sends_dropped_total', { cause: 'not_connected' })).toBe(1);
  });

  test('a message without a form in the node’s dialect is dropped and counted', async () => {
    agent = await fixture.agent('old1', { dialect: 'chef2' });
    await agent.comeUp();
    fixture.nodes.registry.send(ORG.id, ['old1'], { type: 'reconfigure' });
    expect(agent.heard).toEqual([]);
    expect(await fixture.count('muster_sends_dropped_total', { cause: 'no_form' })).toBe(1);
  });
});

test('reach sends to the nodes that have a connection, and answers which', async () => {
  await agent.comeUp();
  const away = await fixture.agent('web2');
  away.configure();
  expect(fixture.nodes.registry.reach([agent.view, away.view], { type: 'abort' })).toEqual([agent.view]);
  expect([agent.heard, away.heard]).toEqual([['abort'], []]);
});

describe('deletion', () => {
  test('a deleted node is forgotten, and its messages are dropped', async () => {
    await agent.comeUp();
    told();
    await fixture.nodes.organizationRemoved(ORG.id);
    expect(told()).toEqual(['web1 down', 'web1 removed']);
    expect(fixture.nodes.registry.get(ORG.id, 'web1')).toBeUndefined();
    expect(await row()).toBeUndefined();
    agent.beat();
    expect(await fixture.count('muster_messages_dropped_total', { cause: 'unknown_org' })).toBe(1);
  });

  test('a node whose deletion cannot be stored is still there, and can be deleted later', async () => {
    await agent.comeUp();
    told();
    const outage = vi.spyOn(fixture.store, 'transact').mockRejectedValueOnce(new Error('disk full'));
    await expect(fixture.nodes.organizationRemoved(ORG.id)).rejects.toThrow('disk full');
    outage.mockRestore();
    expect(told()).toEqual(['web1 kept']);
    agent.send({ type: 'facts', facts: { os: 'linux' }, labels: {} });
    await fixture.stored();
    expect(await row()).toMatchObject({ facts: '{"os":"linux"}' });
    await fixture.nodes.organizationRemoved(ORG.id);
    expect([fixture.nodes.registry.get(ORG.id, 'web1'), await row()]).toEqual([undefined, undefined]);
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
  await agent.comeUp();
  fixture.clock.advance(4 * INTERVAL);
  expect(agent.view.status).toBe('up');
  fixture.clock.advance(2 * INTERVAL);
  expect(agent.view.status).toBe('down');
  agent.beat();
  expect(agent.view.status).toBe('up');
});
