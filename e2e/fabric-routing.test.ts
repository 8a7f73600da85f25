import { type Frame, header } from '@muster/fabric';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RawClient, typesOf } from '../packages/fabric/test/support/raw-client.js';
import { EventTree } from './support/event-tree.js';
import type { RelayProcess } from './support/relay-process.js';

/** root – top – left, right, as processes. */
let tree: EventTree;
let left: RelayProcess;
let right: RelayProcess;

beforeAll(async () => {
  tree = await EventTree.start();
  const top = await tree.relay('top', tree.port);
  [left, right] = await Promise.all([
    tree.relay('left', top.port),
    // A client that has a MiB to read is slow here.
    tree.relay('right', top.port, ['--max-queued', String(1024 * 1024)]),
  ]);
});
afterEach(() => tree.hangUp());
afterAll(() => tree.stop());

function clients(count: number, port: number): Promise<RawClient[]> {
  return Promise.all(Array.from({ length: count }, () => tree.client(port)));
}

/** Everything up to the event of type `end`, which comes after everything else. */
async function untilEnd(client: RawClient): Promise<Frame[]> {
  await client.until(() => client.frames.some((each) => header(each, 'type') === 'end'));
  return client.frames.splice(0).filter((each) => header(each, 'type') !== 'end');
}

function publishNow(client: RawClient, type: string, attributes: readonly (readonly [string, string])[] = []) {
  return client.ask('SEND', [['destination', '/topic/events'], ['type', type], ...attributes]);
}

describe('a root and two levels of relays', () => {
  test('1: of 100 agents, exactly those that selected an event of the root hear it, and once', async () => {
    const agents = (await Promise.all([clients(50, left.port), clients(50, right.port)])).flat();
    await Promise.all(agents.map((each, n) => each.subscribe('1', `host = 'h${n % 10}' OR type = 'end'`)));
    const root = await tree.client(tree.port);
    await publishNow(root, 'reboot', [['host', 'h3']]);
    await publishNow(root, 'reboot', [['host', 'h10']]);
    await publishNow(root, 'end');
    const heard = await Promise.all(agents.map(untilEnd));
    const expected = agents.map((_, n) => (n % 10 === 3 ? ['h3'] : []));
    expect(heard.map((frames) => frames.map((each) => header(each, 'host')))).toEqual(expected);
  });

  test('2: a sibling on the same relay hears an event once, and only after the root has it', async () => {
    const [agent, sibling] = await clients(2, left.port);
    if (agent === undefined || sibling === undefined) throw new Error('two clients');
    await sibling.subscribe('1', "type = 'hello'");
    const { server } = tree.cluster;
    server.signal('SIGSTOP');
    try {
      agent.publish('hello');
      await left.reaches('to have sent it up', ({ unconfirmed }) => unconfirmed === 1);
      // Answered by the relay alone.
      await sibling.barrier();
      expect(sibling.frames).toEqual([]);
    } finally {
      server.signal('SIGCONT');
    }
    const [message] = await sibling.messages(1);
    const position = Number(message && header(message, 'message-id'));
    const root = await tree.client(tree.port);
    await root.subscribe('log', "type = 'hello'", [['from', String(position - 1)]]);
    const [logged] = await root.messages(1);
    expect(logged && header(logged, 'message-id')).toBe(String(position));
    await publishNow(agent, 'other');
    await sibling.barrier();
    expect([...sibling.frames, ...root.frames]).toEqual([]);
  });

  test('9: a client that vanishes in the middle of a frame disturbs nobody, and leaves nothing behind', async () => {
    const [follower, publisher, vanishing] = await clients(3, left.port);
    if (!follower || !publisher || !vanishing) throw new Error('three clients');
    await Promise.all(
      [follower, vanishing].map((client) => client.subscribe('1', "type IN ('before', 'half', 'after')")),
    );
    await publishNow(publisher, 'before');
    vanishing.write('SEND\ndestination:/topic/events\ntype:half\ncontent-length:100\n\nhalf of it');
    vanishing.socket.resetAndDestroy();
    await left.reaches('to have noticed', ({ subscriptions }) => subscriptions === 1);
    await publishNow(publisher, 'after');
    expect(typesOf(await follower.messages(2))).toEqual(['before', 'after']);
    expect(publisher.closed).toBe(false);
  });

  test('17: 1,000 subscriptions: each event reaches exactly the subscriptions it is for, and nobody else', async () => {
    const agents = (await Promise.all([clients(10, left.port), clients(10, right.port)])).flat();
    // 50 on each of 20 connections.
    const subscribe = (agent: RawClient, from: number) =>
      Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          agent.subscribe(`s${from + n}`, `node = 'n${from + n}' AND kind IN ('start', 'stop') OR type = 'all'`),
        ),
      );
    await Promise.all(agents.map((agent, n) => subscribe(agent, 50 * n)));
    await Promise.all(agents.map((agent) => agent.subscribe('end', "type = 'end'")));
    const root = await tree.client(tree.port);
    for (let n = 0; n < 1000; n++) {
      root.publish('command', [
        ['node', `n${n}`],
        ['kind', n % 2 === 0 ? 'start' : 'pause'],
      ]);
    }
    for (let n = 0; n < 3; n++) root.publish('all', [['n', String(n)]]);
    root.publish('end');
    const heard = await Promise.all(agents.map(untilEnd));
    const told = heard.map((frames) => frames.map((each) => [header(each, 'subscription'), header(each, 'node')]));
    const expected = agents.map((_, agent) =>
      Array.from({ length: 50 }, (_, n) => 50 * agent + n).flatMap((n) => (n % 2 === 0 ? [[`s${n}`, `n${n}`]] : [])),
    );
    expect(told.map((frames) => frames.filter(([, node]) => node !== undefined))).toEqual(expected);
    const all = told.flat().filter(([, node]) => node === undefined);
    expect(all.length).toBe(3 * 1000);
    expect(new Set(all.map(([id]) => id)).size).toBe(1000);
  });

  test('19: 10,000 completions at once go up: each waiter hears its own, and the root every one, once', async () => {
    const agents = (await Promise.all([clients(50, left.port), clients(50, right.port)])).flat();
    const [root, waiter] = await Promise.all([tree.client(tree.port), tree.client(left.port)]);
    await root.subscribe('all', "type = 'complete'");
    await waiter.subscribe('mine', "type = 'complete' AND token = '77-50'");
    const answer = (agent: number, n: number) =>
      `SEND\ndestination:/topic/events\ntype:complete\ntoken:${agent}-${n}\nerror:0\n\n\0`;
    agents.forEach((agent, number) => {
      agent.write(Array.from({ length: 100 }, (_, n) => answer(number, n)).join(''));
    });
    const completions = await root.messages(10_000);
    expect(new Set(completions.map((each) => header(each, 'token'))).size).toBe(10_000);
    expect((await waiter.messages(1)).map((each) => header(each, 'token'))).toEqual(['77-50']);
    await Promise.all([root, waiter, ...agents].map((each) => each.barrier()));
    expect([...root.frames, ...waiter.frames, ...agents.flatMap(({ frames }) => frames)]).toEqual([]);
  });

  test('18: beside a client that does not read, the others hear everything, and it is cut and counted', async () => {
    const [slow, ...fast] = await clients(4, right.port);
    if (slow === undefined) throw new Error('a slow client');
    await Promise.all([slow, ...fast].map((each) => each.subscribe('1', "type = 'big'")));
    slow.socket.pause();
    const publisher = await tree.client(left.port);
    const body = 'x'.repeat(3900);
    let sent = 0;
    const heard = fast.map((): string[] => []);
    const cut = async () => (await right.status()).totals.slow_disconnects === 1;
    while (!(await cut())) {
      // More than all the buffers of sockets in between.
      if (sent > 20_000) throw new Error('nobody was cut');
      for (let n = 0; n < 100; n++) publisher.publish('big', [['n', String(sent++)]], body);
      await Promise.all(
        fast.map(async (each, n) => {
          for (const message of await each.messages(100)) heard[n]?.push(header(message, 'n') ?? '');
        }),
      );
    }
    const all = Array.from({ length: sent }, (_, n) => String(n));
    expect(heard).toEqual(fast.map(() => all));
    slow.socket.resume();
    expect(header(await slow.error(), 'code')).toBe('event_slow_client');
    expect(fast.map(({ closed }) => closed)).toEqual(fast.map(() => false));
  });
});

describe('two instances on one machine', () => {
  test('11: what happens in one is not heard in the other', async () => {
    const other = await EventTree.start();
    try {
      const below = await other.relay('other', other.port);
      const here = await tree.client(left.port);
      const there = await other.client(below.port);
      await Promise.all([
        here.subscribe('1', "type LIKE 'instance.%'"),
        there.subscribe('1', "type LIKE 'instance.%'"),
      ]);
      await publishNow(here, 'instance.here');
      await publishNow(there, 'instance.there');
      await publishNow(here, 'instance.end');
      await publishNow(there, 'instance.end');
      expect(typesOf(await here.messages(2))).toEqual(['instance.here', 'instance.end']);
      expect(typesOf(await there.messages(2))).toEqual(['instance.there', 'instance.end']);
      const strange = other.connection(left.port);
      await expect(strange.connect('default/admin', { passcode: other.token })).rejects.toThrow('login_refused');
    } finally {
      await other.stop();
    }
  });
});
