import { connect } from 'node:net';
import { header } from '@muster/fabric';
import type { Client } from '@muster/fabric/client';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RawClient, typesOf } from '../packages/fabric/test/support/raw-client.js';
import { EventTree } from './support/event-tree.js';
import type { RelayProcess } from './support/relay-process.js';
import { until } from './support/until.js';

/** root – middle – low, as processes. */
let tree: EventTree;
let middle: RelayProcess;
let low: RelayProcess;

beforeAll(async () => {
  tree = await EventTree.start();
  middle = await tree.relay('middle', tree.port);
  low = await tree.relay('low', middle.port);
});
afterEach(() => tree.hangUp());
afterAll(() => tree.stop());

function publishNow(client: RawClient, type: string) {
  return client.ask('SEND', [
    ['destination', '/topic/events'],
    ['type', type],
  ]);
}

/** The numbers of the ticks that a program hears; it is asked for nothing more. */
async function ticks(program: Client): Promise<number[]> {
  const heard: number[] = [];
  const subscription = program.subscribe({ selector: "type = 'tick'" });
  await subscription.ready;
  void (async () => {
    for await (const event of subscription) heard.push(Number(event.get('n')));
  })();
  return heard;
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => socket.destroy());
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
  });
}

/** What is in the log of the root, by type, of those asked for. */
async function logged(types: readonly string[]): Promise<(string | undefined)[]> {
  const reader = await tree.client(tree.port);
  await reader.subscribe('log', `type IN (${types.map((type) => `'${type}'`).join(', ')}, 'marker')`, [
    ['from', '-1h'],
  ]);
  await publishNow(reader, 'marker');
  await reader.until(() => reader.frames.some((each) => header(each, 'type') === 'marker'));
  return typesOf(reader.frames).filter((type) => type !== 'marker');
}

/** Codes of the ERRORs with which the connections end. */
function ends(clients: readonly RawClient[]): Promise<(string | undefined)[]> {
  return Promise.all(clients.map(async (client) => header(await client.error(), 'code')));
}

test('5: a relay in the middle is killed with -9 under load and started again: all agents recover without help, and hear nothing twice or out of order', async () => {
  const ports = [middle.port, low.port].flatMap((port) => Array.from({ length: 5 }, () => port));
  const agents = await Promise.all(ports.map((port) => tree.program(port)));
  const heard = await Promise.all(agents.map(ticks));
  const publisher = await tree.program(tree.port);
  let n = 0;
  let loaded = true;
  const load = (async () => {
    while (loaded) await publisher.publish({ type: 'tick', attributes: [['n', String(++n)]] });
  })();
  await until('all agents to hear ticks', () => heard.every(({ length }) => length > 20));
  await middle.kill();
  // One of them also publishes: its relay drops all of its clients.
  await expect(agents.at(-1)?.publish({ type: 'report' })).rejects.toThrow();
  const killedAt = n;
  await until('ticks that nobody below hears', () => n > killedAt + 20);
  await middle.restart();
  const restartedAt = n;
  await until('all agents to hear ticks again', () => heard.every((each) => (each.at(-1) ?? 0) > restartedAt));
  loaded = false;
  await load;
  await until('all agents to hear the last tick', () => heard.every((each) => each.at(-1) === n));
  for (const each of heard) expect(each).toEqual([...new Set(each)].sort((a, b) => a - b));
});

test('6: upstream is killed while clients are silent: they stay, it is registered again, and what was published meanwhile is not delivered', async () => {
  const client = await tree.client(low.port);
  await client.subscribe('1', "type IN ('missed', 'after')");
  const { connects } = (await low.status()).upstream;
  await middle.kill();
  await low.reaches('to notice', ({ upstream }) => upstream.state === 'degraded');
  const root = await tree.client(tree.port);
  await publishNow(root, 'missed');
  await middle.restart();
  await low.serving();
  await publishNow(root, 'after');
  expect(typesOf(await client.messages(2))).toEqual(['fabric.dropped', 'after']);
  expect(client.closed).toBe(false);
  expect((await middle.status()).subscriptions).toBe(1);
  expect((await low.status()).upstream.connects).toBe(connects + 1);
});

test('7: upstream is killed and a client publishes: all clients are cut, nothing listens until it is back, and the event is never delivered', async () => {
  const [publisher, silent] = [await tree.client(middle.port), await tree.client(middle.port)];
  const below = await tree.client(low.port);
  await Promise.all([silent.subscribe('1'), below.subscribe('1', "type IN ('lost', 'found')")]);
  const { count } = (await middle.status()).drops;
  await tree.cluster.killServer();
  publisher.publish('lost');
  expect(await ends([publisher, silent])).toEqual(['upstream_failed', 'upstream_failed']);
  const down = await middle.reaches('to have dropped all', ({ drops }) => drops.count > count);
  expect(down).toMatchObject({ clients: 0, subscriptions: 0, listen: [] });
  expect(await takesConnections(middle.port)).toBe(false);
  await tree.cluster.restartServer();
  await Promise.all([middle.serving(), low.serving()]);
  const again = await tree.client(middle.port);
  await again.subscribe('1', "type IN ('lost', 'found')");
  await publishNow(again, 'found');
  expect(typesOf(await again.messages(1))).toEqual(['found']);
  // Clients of relays further down have published nothing, and stay.
  expect(typesOf(await below.messages(2))).toEqual(['fabric.dropped', 'found']);
  expect(await logged(['lost', 'found'])).toEqual(['found']);
});

test('7: what is published two levels below a server that was killed is never delivered, and its publisher is told', async () => {
  const publisher = await tree.client(low.port);
  await tree.cluster.killServer();
  publisher.publish('lost.deep');
  expect(await ends([publisher])).toEqual(['upstream_failed']);
  await tree.cluster.restartServer();
  await Promise.all([middle.serving(), low.serving()]);
  await publishNow(await tree.client(low.port), 'found.deep');
  expect(await logged(['lost.deep', 'found.deep'])).toEqual(['found.deep']);
});

test('8: upstream is frozen, so that it takes bytes and reads none: after the send limit (F4) it is as if it were lost, and thawed it does not deliver the event', async () => {
  const [publisher, silent] = [await tree.client(middle.port), await tree.client(middle.port)];
  await silent.subscribe('1');
  const { server } = tree.cluster;
  server.signal('SIGSTOP');
  try {
    publisher.publish('frozen');
    expect(await ends([publisher, silent])).toEqual(['upstream_failed', 'upstream_failed']);
    const down = await middle.reaches('to have dropped all', ({ listen }) => listen.length === 0);
    expect(down).toMatchObject({ clients: 0, subscriptions: 0 });
  } finally {
    server.signal('SIGCONT');
  }
  await Promise.all([middle.serving(), low.serving()]);
  const again = await tree.client(middle.port);
  await again.subscribe('1', "type IN ('frozen', 'thawed')");
  await publishNow(again, 'thawed');
  expect(typesOf(await again.messages(1))).toEqual(['thawed']);
  expect(await logged(['frozen', 'thawed'])).toEqual(['thawed']);
});
