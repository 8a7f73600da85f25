import { compileText, parseSelector } from '@muster/selector';
import { afterEach, describe, expect, test } from 'vitest';
import { type Headers, header } from '../src/stomp/frame.js';
import { small, stopAll, tree } from './relay-support/start.js';
import { typesOf } from './support/raw-client.js';

afterEach(stopAll);

describe('B-1 to B-10: what a relay passes where', () => {
  test('B-1: upstream has one subscription, which matches everything, however many clients there are', async () => {
    const { parent, relay } = await small();
    for (let count = 0; count < 5; count++) {
      const client = await relay.client();
      await client.subscribe('a', "type = 'x'");
      await client.subscribe('b');
    }
    const subscriptions = parent.of('SUBSCRIBE');
    expect(subscriptions.map((frame) => [header(frame, 'destination'), header(frame, 'selector')])).toEqual([
      ['/topic/events', undefined],
    ]);
  });

  test('B-2: subscribing and unsubscribing a thousand times sends nothing upstream', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    const before = parent.frames.length;
    for (let count = 0; count < 1000; count++) {
      client.send('SUBSCRIBE', [
        ['id', 'a'],
        ['destination', '/topic/events'],
        ['selector', `n = ${count}`],
      ]);
      client.send('UNSUBSCRIBE', [['id', 'a']]);
    }
    await client.barrier();
    client.publish('last');
    await parent.until(() => parent.published.length === 1);
    expect(parent.frames.length).toBe(before + 1);
  });

  test('B-3: the same selector of two clients is two subscriptions; ending one leaves the other', async () => {
    const { parent, relay } = await small();
    const [one, other] = [await relay.client(), await relay.client()];
    for (const client of [one, other]) await client.subscribe('1', 'n > 5');
    await one.ask('UNSUBSCRIBE', [['id', '1']]);
    parent.publish('a', [['n', '7']]);
    expect(typesOf(await other.messages(1))).toEqual(['a']);
    await one.barrier();
    expect(one.frames).toEqual([]);
    expect(relay.status().subscriptions).toBe(1);
  });

  test('B-4: who gets an event is what evaluating every subscription says', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    const selectors = [
      ...["type = 'a'", "type IN ('a', 'b')", "host = 'n1' AND n > 3", 'n BETWEEN 2 AND 4', "host LIKE 'n%'", ''],
      ...['host IS NULL', "NOT (host = 'n1')", "n > 3 OR host = 'n2'", 'n * 2 = 8', "source = 'default/root'"],
    ];
    for (const [index, selector] of selectors.entries()) await client.subscribe(String(index), selector);
    const expected: string[] = [];
    let serial = 0;
    for (const type of ['a', 'b', 'c']) {
      for (const host of ['n1', 'n2', 'x', null]) {
        for (const n of ['1', '4', 'many']) {
          const attributes: Headers = [
            ['n', n],
            ['serial', String(serial)],
            ...(host ? [['host', host] as const] : []),
          ];
          const seen = new Map([['type', type], ['source', 'default/root'], ...attributes]);
          selectors.forEach((selector, index) => {
            if (compileText(parseSelector(selector, { sugar: false }))(seen)) expected.push(`${index} ${serial}`);
          });
          parent.publish(type, attributes);
          serial += 1;
        }
      }
    }
    const got = (await client.messages(expected.length)).map(
      (message) => `${header(message, 'subscription')} ${header(message, 'serial')}`,
    );
    expect(got.sort()).toEqual(expected.sort());
    await client.barrier();
    expect(client.frames).toEqual([]);
  });

  test('B-5: every event of a client goes up once, even if only clients of the same relay follow it', async () => {
    const { parent, relay } = await small();
    const [publisher, follower] = [await relay.client(), await relay.client()];
    await follower.subscribe('1');
    for (let count = 0; count < 100; count++) publisher.publish('a', [['n', String(count)]], `body ${count}`);
    await follower.messages(100);
    expect(parent.published.map((frame) => header(frame, 'n'))).toEqual([...Array(100).keys()].map(String));
    expect(new Set(parent.published.map((frame) => header(frame, 'on-behalf')))).toEqual(new Set(['default/client']));
  });

  test('B-6: siblings hear an event only when it comes down again, and then once', async () => {
    const { parent, relay } = await small();
    const [publisher, sibling] = [await relay.client(), await relay.client()];
    await sibling.subscribe('1');
    parent.habits.passesDown = false;
    await publisher.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'blocked'],
    ]);
    await sibling.barrier();
    expect(sibling.frames).toEqual([]);
    parent.habits.passesDown = true;
    publisher.publish('passed');
    expect(typesOf(await sibling.messages(1))).toEqual(['passed']);
    await publisher.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'last'],
    ]);
    expect(typesOf(await sibling.messages(1))).toEqual(['last']);
  });

  test.each(['SUBSCRIBE', 'UNSUBSCRIBE', 'SEND', 'ACK', 'BEGIN', 'DISCONNECT'])(
    'B-7, O-14: %s from upstream is dropped and counted, not answered, and changes nothing',
    async (command) => {
      const { parent, relay } = await small();
      const client = await relay.client();
      await client.subscribe('1');
      const before = parent.frames.length;
      parent.send(command, [
        ['id', 'x'],
        ['destination', '/topic/events'],
        ['selector', "type = 'a'"],
        ['receipt', 'r'],
      ]);
      parent.publish('a');
      expect(typesOf(await client.messages(1))).toEqual(['a']);
      client.publish('b');
      await parent.until(() => parent.published.length === 1);
      expect(parent.frames.length).toBe(before + 1);
      expect(relay.status()).toMatchObject({
        subscriptions: 1,
        totals: { ignored: 1 },
        upstream: { state: 'serving' },
      });
    },
  );

  test('B-8: a relay below a relay is to it a client with one subscription that matches everything', async () => {
    const { root, relays, leaf } = await tree(2);
    const client = await leaf.client();
    await client.subscribe('1', "type = 'a'");
    expect(relays[0]?.status()).toMatchObject({ clients: 1, subscriptions: 1, selectors: { unindexed: 1 } });
    const publisher = await root.client();
    publisher.publish('a');
    expect(typesOf(await client.messages(1))).toEqual(['a']);
  });

  test('B-9: clients of one relay hear each other, and themselves, by way of the root', async () => {
    const { leaf } = await tree(1);
    const [one, other] = [await leaf.client(), await leaf.client('default/other')];
    await one.subscribe('1');
    await other.subscribe('1');
    one.publish('a');
    for (const client of [one, other]) {
      const [message] = await client.messages(1);
      expect([message && header(message, 'type'), message && header(message, 'source')]).toEqual([
        'a',
        'default/client',
      ]);
    }
  });

  test('B-10: an event comes once for each subscription of a client that it matches', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    await client.subscribe('1', "type = 'a'");
    await client.subscribe('2', 'n > 5');
    await client.subscribe('3', 'n > 50');
    parent.publish('a', [['n', '7']]);
    const subscriptions = (await client.messages(2)).map((message) => header(message, 'subscription'));
    expect(subscriptions.sort()).toEqual(['1', '2']);
    await client.barrier();
    expect(client.frames).toEqual([]);
  });
});

describe('on the way', () => {
  test('D-4: attributes and body come through three relays byte for byte and in order', async () => {
    const { leaf } = await tree(3);
    const client = await leaf.client();
    await client.subscribe('1');
    const attributes: Headers = [
      ['zulu', 'a:b\\c\nd\re'],
      ['alpha', ' blank '],
      ['ünïcode', '☃'],
      ['alpha', 'twice'],
      ['empty', ''],
    ];
    client.publish('a.b', attributes, 'one\0two\nthree');
    const [message] = await client.messages(1);
    const from = message?.headers.findIndex(([name]) => name === 'type') ?? 0;
    expect(message?.headers.slice(from)).toEqual([['type', 'a.b'], ...attributes, ['content-length', '13']]);
    expect(Buffer.from(message?.body ?? []).toString()).toBe('one\0two\nthree');
  });

  test('O-16: the events of one publisher keep their order through three relays', async () => {
    const { root, leaf } = await tree(3);
    const [publisher, client, above] = [await leaf.client(), await leaf.client(), await root.client()];
    await client.subscribe('1');
    await above.subscribe('1');
    const count = 2000;
    for (let n = 0; n < count; n++) publisher.publish('a', [['n', String(n)]]);
    const expected = [...Array(count).keys()].map(String);
    for (const reader of [client, above]) {
      expect((await reader.messages(count)).map((message) => header(message, 'n'))).toEqual(expected);
    }
  });

  test('A-3: the root sees every event of every level once', async () => {
    const { root, relays } = await tree(3);
    const watcher = await root.client();
    await watcher.subscribe('1');
    for (const [level, relay] of relays.entries()) (await relay.client()).publish(`level${level}`);
    expect(typesOf(await watcher.messages(3)).sort()).toEqual(['level0', 'level1', 'level2']);
    await watcher.barrier();
    expect(watcher.frames).toEqual([]);
  });

  test('a receipt says that the root has stored the event', async () => {
    const { root, leaf } = await tree(2);
    const client = await leaf.client();
    root.log.hold();
    client.send('SEND', [
      ['destination', '/topic/events'],
      ['type', 'a'],
      ['receipt', 'stored'],
    ]);
    await client.barrier();
    expect(client.frames).toEqual([]);
    root.log.letGo();
    expect((await client.next()).headers).toEqual([['receipt-id', 'stored']]);
  });
});
