import { ManualClock, MusterError } from '@muster/base';
import { header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
beforeEach(async () => {
  given = await RootFixture.start();
});
afterEach(() => given.end());

const EVENTS: readonly [string, string] = ['destination', '/topic/events'];

describe('transactions', () => {
  test('events of a transaction are published at COMMIT, in order and in one append', async () => {
    const client = await given.client();
    await client.subscribe('1');
    await client.ask('BEGIN', [['transaction', 't']]);
    for (const type of ['a', 'b', 'c']) client.publish(type, [['transaction', 't']]);
    await client.barrier();
    expect(given.log.last()).toBe(0);
    await client.ask('COMMIT', [['transaction', 't']]);
    expect(typesOf(await client.messages(3))).toEqual(['a', 'b', 'c']);
    expect(given.log.appends).toEqual([3]);
  });

  test('events of an aborted transaction are never published', async () => {
    const client = await given.client();
    await client.ask('BEGIN', [['transaction', 't']]);
    client.publish('a', [['transaction', 't']]);
    await client.ask('ABORT', [['transaction', 't']]);
    await client.barrier();
    expect(given.log.last()).toBe(0);
  });

  test('a transaction ends with its connection', async () => {
    const client = await given.client();
    await client.ask('BEGIN', [['transaction', 't']]);
    client.publish('a', [['transaction', 't']]);
    await client.ask('DISCONNECT', []);
    await client.end();
    expect(given.log.last()).toBe(0);
  });

  test('transactions do not mix', async () => {
    const client = await given.client();
    await client.subscribe('1');
    await client.ask('BEGIN', [['transaction', 't']]);
    await client.ask('BEGIN', [['transaction', 'u']]);
    client.publish('t1', [['transaction', 't']]);
    client.publish('u1', [['transaction', 'u']]);
    client.publish('t2', [['transaction', 't']]);
    await client.ask('COMMIT', [['transaction', 'u']]);
    await client.ask('COMMIT', [['transaction', 't']]);
    expect(typesOf(await client.messages(3))).toEqual(['u1', 't1', 't2']);
  });

  test('the receipt of COMMIT comes when its events are stored', async () => {
    const client = await given.client();
    await client.ask('BEGIN', [['transaction', 't']]);
    client.publish('a', [['transaction', 't']]);
    given.log.hold();
    const answer = client.ask('COMMIT', [['transaction', 't']]);
    await given.until(() => given.log.appends.length > 0);
    expect(client.frames).toEqual([]);
    given.log.letGo();
    await answer;
  });

  test('the receipt of COMMIT comes when its events are stored, also when the last frame in it is an ACK', async () => {
    const client = await given.client();
    await client.subscribe('1', '', [['ack', 'client']]);
    client.publish('a');
    const [message] = await client.messages(1);
    given.log.hold();
    client.send('BEGIN', [['transaction', 't']]);
    client.publish('b', [['transaction', 't']]);
    client.send('ACK', [
      ['id', (message && header(message, 'ack')) ?? ''],
      ['transaction', 't'],
    ]);
    client.send('COMMIT', [
      ['transaction', 't'],
      ['receipt', 'committed'],
    ]);
    await client.barrier();
    await given.until(() => given.log.appends.length === 2);
    expect(client.frames).toEqual([]);
    given.log.letGo();
    expect(typesOf(await client.messages(1))).toEqual(['b']);
    expect(header(await client.next(), 'receipt-id')).toBe('committed');
  });

  test('a client that leaves gets one receipt of COMMIT, and before that of DISCONNECT', async () => {
    const client = await given.client();
    client.send('BEGIN', [['transaction', 't']]);
    client.publish('a', [['transaction', 't']]);
    client.publish('b', [['transaction', 't']]);
    client.send('COMMIT', [
      ['transaction', 't'],
      ['receipt', 'committed'],
    ]);
    client.send('DISCONNECT', [['receipt', 'left']]);
    await client.end();
    expect(client.frames.map((each) => header(each, 'receipt-id'))).toEqual(['committed', 'left']);
  });

  test('a refused event ends the connection and what is held with it', async () => {
    const client = await given.client();
    await client.ask('BEGIN', [['transaction', 't']]);
    client.publish('a', [['transaction', 't']]);
    client.send('SEND', [EVENTS, ['transaction', 't']]);
    client.send('COMMIT', [['transaction', 't']]);
    await client.error();
    expect(given.log.last()).toBe(0);
  });
});

describe('receipts', () => {
  test('an event is delivered before its receipt is sent', async () => {
    const client = await given.client();
    await client.subscribe('1');
    client.send('SEND', [EVENTS, ['type', 'a'], ['receipt', 'x']]);
    await client.until(() => client.frames.length === 2);
    expect(client.frames.map(({ command }) => command)).toEqual(['MESSAGE', 'RECEIPT']);
  });

  test('no receipt comes before the event is stored', async () => {
    const client = await given.client();
    given.log.hold();
    const answer = client.ask('SEND', [EVENTS, ['type', 'a']]);
    await given.until(() => given.log.appends.length > 0);
    expect(client.frames).toEqual([]);
    given.log.letGo();
    await answer;
  });

  test.each([
    ['', []],
    [' with a future one among them', [['at', '2050-01-01T00:00:00Z']] as const],
  ])('an organization that is gone costs those of others nothing%s', async (_, more) => {
    const { log } = given;
    const append = log.append.bind(log);
    log.append = async (events, stored) => {
      if (events.some(({ origin }) => origin.org === 'gone')) {
        throw new MusterError('organization_not_found', { organization: 'gone' });
      }
      return append(events, stored);
    };
    const [client, left] = [await given.client(), await given.client('gone/client')];
    await client.subscribe('1');
    log.hold();
    client.publish('first');
    await given.until(() => log.appends.length === 1);
    // All of these are one append.
    left.publish('b', [['receipt', 'b']]);
    client.publish('later', more);
    client.send('SEND', [EVENTS, ['type', 'a'], ['receipt', 'a']]);
    await given.until(() => given.root.pending() === 3);
    log.letGo();
    const error = await left.error();
    expect([header(error, 'code'), header(error, 'receipt-id')]).toEqual(['organization_not_found', 'b']);
    await client.until(() => client.frames.some(({ command }) => command === 'RECEIPT'));
    expect(typesOf(await client.messages(more.length > 0 ? 2 : 3)).at(-1)).toBe('a');
  });

  test('receipts of events come in the order of the events, future ones among them', async () => {
    const client = await given.client();
    for (let n = 0; n < 10; n++) {
      client.publish('a', [['receipt', `r${n}`], ...(n % 3 === 1 ? [['at', '2050-01-01T00:00:00Z'] as const] : [])]);
    }
    await client.until(() => client.frames.length === 10);
    expect(client.frames.map((each) => header(each, 'receipt-id'))).toEqual([...Array(10).keys()].map((n) => `r${n}`));
  });
});

describe('a log that cannot store', () => {
  test('those who published are told and cut, nobody else, and nobody hears of the event', async () => {
    const [publisher, reader] = await Promise.all([given.client(), given.client()]);
    await reader.subscribe('1');
    given.log.fail(true);
    publisher.publish('lost', [['receipt', 'x']]);
    const error = await publisher.error();
    expect(header(error, 'code')).toBe('store_unavailable');
    expect(header(error, 'receipt-id')).toBe('x');
    given.log.fail(false);
    await reader.barrier();
    expect(reader.frames).toEqual([]);
    const again = await given.client();
    again.publish('kept');
    expect(typesOf(await reader.messages(1))).toEqual(['kept']);
    expect(given.root.metrics.eventsFailed).toBe(1);
  });

  test('a client that is leaving is told, instead of a receipt', async () => {
    const client = await given.client();
    given.log.hold();
    given.log.fail(true);
    client.write('SEND\ndestination:/topic/events\ntype:a\n\n\0DISCONNECT\nreceipt:bye\n\n\0');
    await given.until(() => given.log.appends.length > 0);
    given.log.letGo();
    expect(header(await client.error(), 'code')).toBe('store_unavailable');
    expect(client.frames).toHaveLength(1);
  });

  test('publishers are not read while too much waits for it', async () => {
    const client = await given.client();
    given.log.hold();
    client.publish('first');
    await given.until(() => given.log.appends.length > 0);
    const event = 'SEND\ndestination:/topic/events\ntype:a\n\n\0'.repeat(1000);
    for (let n = 0; n < 100; n++) client.write(event);
    await given.until(() => given.root.pending() > 20_000);
    const { bytesIn } = given.root.metrics;
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(given.root.metrics.bytesIn - bytesIn).toBeLessThan(256 * 1024);
    expect(given.root.pending()).toBeLessThan(30_000);
    given.log.letGo();
    await client.ask('SEND', [EVENTS, ['type', 'last']]);
    expect(given.log.last()).toBe(100_002);
  });

  test('the next events are on their way into the log before anybody hears of those that are durable', async () => {
    const client = await given.client();
    const { log } = given;
    const told: number[] = [];
    const stop = log.onStored(() => told.push(log.appends.length));
    log.hold();
    client.publish('first');
    await given.until(() => log.appends.length === 1);
    client.publish('second');
    await given.until(() => given.root.pending() === 1);
    log.letGo();
    await client.ask('SEND', [EVENTS, ['type', 'third']]);
    stop();
    expect(told[0]).toBe(2);
    expect(log.appends).toEqual([1, 1, 1]);
  });

  test('a refusal does not overtake the receipts of what was published before', async () => {
    const client = await given.client();
    const { log } = given;
    const append = log.append.bind(log);
    // Refused at once, while the one before it is still to be told of.
    log.append = async (events, stored) => {
      if (log.appends.length === 1) throw new MusterError('store_unavailable', { reason: 'the disk is full' });
      return append(events, stored);
    };
    log.hold();
    client.publish('first', [['receipt', 'first']]);
    await given.until(() => log.appends.length === 1);
    client.publish('second', [['receipt', 'second']]);
    await given.until(() => given.root.pending() === 1);
    log.letGo();
    await client.error();
    expect(client.frames.map((each) => header(each, 'receipt-id'))).toEqual(['first', 'second']);
  });

  test('what has gathered is stored and delivered in pieces that a client can take, in order', async () => {
    const client = await given.client();
    await client.subscribe('1');
    given.log.hold();
    client.publish('first');
    await given.until(() => given.log.appends.length > 0);
    const body = 'x'.repeat(1000);
    for (let n = 0; n < 5000; n++) client.write(`SEND\ndestination:/topic/events\ntype:a\nn:${n}\n\n${body}\0`);
    await given.until(() => given.root.pending() === 5000);
    given.log.letGo();
    const [, ...later] = await client.messages(5001);
    expect(later.map((message) => header(message, 'n'))).toEqual(Array.from({ length: 5000 }, (_, n) => `${n}`));
    expect(given.log.appends.length).toBeGreaterThan(5);
    expect(Math.max(...given.log.appends)).toBeLessThan(1100);
  });

  test('a publisher that is not read for long is not taken for dead', async () => {
    const clock = new ManualClock();
    const held = await RootFixture.start({ clock, idleMs: 1000 });
    try {
      const client = await held.client('default/client', { headers: [['heart-beat', '1000,0']] });
      held.log.hold();
      client.publish('first');
      await held.until(() => held.log.appends.length > 0);
      const event = 'SEND\ndestination:/topic/events\ntype:a\n\n\0'.repeat(1000);
      for (let n = 0; n < 30; n++) client.write(event);
      await held.until(() => held.root.pending() > 20_000);
      clock.advance(5000);
      held.log.letGo();
      await client.barrier();
      expect(held.root.metrics.silent).toBe(0);
    } finally {
      await held.end();
    }
  });
});

describe('future events', () => {
  test('SEND with `at` is scheduled, not published, and the receipt names it', async () => {
    const client = await given.client('default/alice');
    await client.subscribe('1');
    const receipt = await client.ask('SEND', [
      EVENTS,
      ['type', 'later'],
      ['at', '2050-01-01T00:00:00+01:00'],
      ['x', 'y'],
    ]);
    expect(header(receipt, 'scheduled')).toBe('s1');
    expect(given.schedule.events).toMatchObject([
      { atMs: Date.UTC(2049, 11, 31, 23), event: { origin: { source: 'default/alice', kind: 'node' } } },
    ]);
    expect(given.log.last()).toBe(0);
    await given.schedule.fire(Date.UTC(2050, 0, 1));
    const [message] = await client.messages(1);
    expect(message?.headers.slice(-3)).toEqual([
      ['type', 'later'],
      ['x', 'y'],
      ['content-length', '0'],
    ]);
  });

  test('`at` may be milliseconds since 1970', async () => {
    const client = await given.client();
    await client.ask('SEND', [EVENTS, ['type', 'later'], ['at', '2000000000000']]);
    expect(given.schedule.events[0]?.atMs).toBe(2_000_000_000_000);
  });
});
