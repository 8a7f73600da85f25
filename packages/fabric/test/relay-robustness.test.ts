import { systemClock } from '@muster/base';
import { afterEach, describe, expect, test } from 'vitest';
import { type Headers, header } from '../src/stomp/frame.js';
import {
  answers,
  IMPATIENT,
  relayBelow,
  scriptedParent,
  small,
  stopAll,
  type TestRelay,
} from './relay-support/start.js';
import { RawClient, typesOf } from './support/raw-client.js';

afterEach(stopAll);

const EVENT: Headers = [
  ['destination', '/topic/events'],
  ['type', 'a'],
];

async function inState(relay: TestRelay, state: ReturnType<TestRelay['state']>): Promise<void> {
  await relay.until(({ upstream }) => upstream.state === state);
}

describe('upstream is lost', () => {
  test('R-2: a client that connects and subscribes again after a drop hears events again', async () => {
    const { parent, relay } = await small();
    const port = await relay.port();
    const before = await relay.client();
    await before.subscribe('1');
    await parent.die();
    await inState(relay, 'degraded');
    before.publish('lost');
    await before.error();
    await parent.listen();
    await inState(relay, 'serving');
    await relay.until(({ listen }) => listen.length > 0);
    expect(await relay.port()).toBe(port);
    const after = await relay.client();
    await after.subscribe('1');
    parent.publish('b');
    expect(typesOf(await after.messages(1))).toEqual(['b']);
  });

  test('R-4: it connects again by itself, and registers its one subscription again', async () => {
    const { parent, relay } = await small();
    await parent.die();
    await inState(relay, 'degraded');
    await parent.listen();
    await inState(relay, 'serving');
    expect(parent.connections).toBe(2);
    expect(parent.of('SUBSCRIBE').map((frame) => header(frame, 'selector'))).toEqual([undefined, undefined]);
    expect(relay.status().upstream.connects).toBe(2);
  });

  test('R-5: what was published during the outage is never delivered', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    await parent.die();
    await inState(relay, 'degraded');
    client.publish('lost');
    await client.error();
    await parent.listen();
    await inState(relay, 'serving');
    await relay.until(({ listen }) => listen.length > 0);
    (await relay.client()).publish('later');
    await parent.until(() => parent.published.length > 0);
    expect(typesOf(parent.published)).toEqual(['later']);
  });

  test('R-5: an event on its way when the connection breaks has failed', async () => {
    const { parent, relay } = await small();
    parent.habits.confirms = false;
    const client = await relay.client();
    client.send('SEND', [...EVENT, ['receipt', 'r']]);
    await parent.until(() => parent.published.length === 1);
    await parent.die();
    const error = await client.error();
    expect([header(error, 'code'), header(error, 'receipt-id')]).toEqual(['upstream_failed', 'r']);
    await relay.until(({ drops }) => drops.count === 1);
  });

  test('R-5, O-2: an upstream that accepts bytes and reads none of them is noticed by what it does not confirm', async () => {
    const { parent, relay } = await small(IMPATIENT);
    const [client, other] = [await relay.client(), await relay.client()];
    parent.freeze();
    client.publish('a');
    for (const each of [client, other]) {
      expect(header(await each.error(), 'message')).toContain('it did not answer within 0.4 s');
    }
    await relay.until(({ upstream }) => upstream.state === 'ping');
  });

  test('R-5: a relay that stood still does not read what relays below have given up meanwhile', async () => {
    const parent = await scriptedParent();
    let stoodStillMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + stoodStillMs };
    const upper = relayBelow(parent.url, {}, { clock });
    const lower = relayBelow(await upper.port());
    const client = await lower.client();
    stoodStillMs = 60_000;
    client.publish('late');
    expect(header(await client.error(), 'code')).toBe('upstream_failed');
    await lower.until(({ upstream }) => upstream.connects === 2 && upstream.state === 'serving');
    await lower.until(({ listen }) => listen.length > 0);
    (await lower.client()).publish('later');
    await parent.until(() => parent.published.length > 0);
    expect(typesOf(parent.published)).toEqual(['later']);
    expect(upper.status().totals.stalls).toBe(1);
  });

  test('R-6: every client is cut with the reason, and no subscription is left', async () => {
    const { parent, relay } = await small();
    const clients = await Promise.all(Array.from({ length: 5 }, () => relay.client()));
    for (const client of clients) await client.subscribe('1', "type = 'a'");
    await parent.die();
    await inState(relay, 'degraded');
    clients[0]?.publish('a');
    for (const client of clients) expect(header(await client.error(), 'code')).toBe('upstream_failed');
    await inState(relay, 'ping');
    expect(relay.status()).toMatchObject({ clients: 0, subscriptions: 0, drops: { count: 1 } });
    expect(relay.status().drops.last?.reason).toBe('it is not connected');
  });

  test('R-7, O-13: in ping mode nothing listens', async () => {
    const { parent, relay } = await small();
    const port = await relay.port();
    const client = await relay.client();
    await parent.die();
    await inState(relay, 'degraded');
    client.publish('a');
    await client.error();
    await inState(relay, 'ping');
    expect(await answers(port)).toBe(false);
    expect(relay.status().listen).toEqual([]);
  });

  test('R-8, O-12: clients are taken only when upstream has confirmed the subscription', async () => {
    const parent = await scriptedParent();
    parent.habits.welcomes = false;
    const relay = relayBelow(parent.url);
    await parent.until(() => parent.of('CONNECT').length === 1);
    expect(relay.status()).toMatchObject({ upstream: { state: 'ping' }, listen: [] });
    parent.habits.welcomes = true;
    parent.send('CONNECTED', [
      ['version', '1.2'],
      ['relay', 'true'],
    ]);
    await relay.client();
    expect(parent.of('SUBSCRIBE')).toHaveLength(1);
  });

  test('R-9: while upstream does not read, the relay goes on serving whoever does not publish', async () => {
    const { parent, relay } = await small();
    const [flood, reader] = [await relay.client(), await relay.client()];
    await reader.subscribe('1');
    parent.freeze();
    const body = 'x'.repeat(4000);
    for (let count = 0; count < 5000; count++) flood.publish('a', [], body);
    await reader.subscribe('2');
    parent.publish('b');
    expect(typesOf(await reader.messages(2))).toEqual(['b', 'b']);
    // What a publisher may have under way is bounded: the rest is not read.
    expect(relay.status().unconfirmed).toBeLessThan(5000);
  });

  test('R-10, O-3: clients that publish nothing stay connected, and miss what was published meanwhile', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    await client.subscribe('1', "type LIKE 'kept%'");
    await parent.die();
    await inState(relay, 'degraded');
    parent.publish('kept.missed');
    await client.subscribe('2', "type = 'kept.2'");
    await parent.listen();
    await inState(relay, 'serving');
    parent.publish('kept.2');
    const messages = await client.messages(4);
    expect(typesOf(messages)).toEqual(['fabric.dropped', 'fabric.dropped', 'kept.2', 'kept.2']);
    expect(relay.status()).toMatchObject({ clients: 1, drops: { count: 0 } });
  });

  test.each([[], [['slow', 'drop-oldest']], [['slow', 'drop-newest']]] as Headers[])(
    'R-10: once upstream is back every subscription is told that events may be missing, and how many nobody knows: %j',
    async (...slow) => {
      const { parent, relay } = await small();
      const client = await relay.client();
      await client.subscribe('1', "type = 'b'", slow);
      await parent.die();
      await inState(relay, 'degraded');
      await client.barrier();
      expect(client.frames).toEqual([]);
      await parent.listen();
      await inState(relay, 'serving');
      parent.publish('b');
      const [marker] = await client.messages(2);
      expect(marker?.headers).toEqual([
        ['subscription', '1'],
        ['destination', '/topic/events'],
        ['message-id', 'dropped-1-1'],
        ['type', 'fabric.dropped'],
        ['reason', 'a relay had lost its upstream'],
      ]);
    },
  );

  test('R-10: clients of relays further down are told, too, and nobody takes it for an event', async () => {
    const { parent, relay: upper } = await small();
    const middle = relayBelow(await upper.url());
    const lowest = relayBelow(await middle.url());
    const [everything, some] = [await lowest.client(), await lowest.client()];
    await everything.subscribe('1');
    await some.subscribe('2', "type = 'b'");
    await parent.die();
    await inState(upper, 'degraded');
    await parent.listen();
    await inState(upper, 'serving');
    parent.publish('b');
    for (const client of [everything, some]) {
      expect(typesOf(await client.messages(2))).toEqual(['fabric.dropped', 'b']);
    }
    expect(everything.frames).toEqual([]);
    expect(lowest.status().upstream.connects).toBe(1);
  });

  test('R-10: a marker that a publisher makes up is an event like any other', async () => {
    const { parent, relay } = await small();
    const [client, other] = [await relay.client(), await relay.client()];
    await client.subscribe('1', "type = 'fabric.dropped'");
    await other.subscribe('2', "type = 'b'");
    parent.publish('fabric.dropped', [['message-id', 'dropped-1-1']]);
    parent.publish('b');
    expect(typesOf(await client.messages(1))).toEqual(['fabric.dropped']);
    expect(typesOf(await other.messages(1))).toEqual(['b']);
  });

  test('R-10: in between no new clients are taken, as nobody can say who they are', async () => {
    const { parent, relay } = await small();
    const port = await relay.port();
    await parent.die();
    await inState(relay, 'degraded');
    await relay.until(({ listen }) => listen.length === 0);
    expect(await answers(port)).toBe(false);
  });

  test('R-11: a client that goes away in the middle of a frame disturbs nobody, and upstream hears nothing of it', async () => {
    const { parent, relay } = await small();
    const [leaving, staying] = [await relay.client(), await relay.client()];
    for (const client of [leaving, staying]) await client.subscribe('1');
    const before = parent.frames.length;
    leaving.write('SEND\ndestination:/topic/events\ntype:half');
    for (let count = 0; count < 100; count++) parent.publish('a');
    leaving.socket.resetAndDestroy();
    await staying.messages(100);
    await relay.until(({ clients }) => clients === 1);
    expect(relay.status().subscriptions).toBe(1);
    expect(parent.frames.length).toBe(before);
  });

  test('L-5: an upstream that falls silent is lost', async () => {
    const { parent, relay } = await small({ heartBeatMs: 100 });
    await parent.until(() => parent.connections === 1);
    // The parent of this test never promised anything, so that its silence means nothing.
    expect(relay.state()).toBe('serving');
    parent.habits.heartBeat = '100,0';
    await parent.die();
    await parent.listen();
    await relay.until(({ upstream }) => upstream.connects === 2);
    await relay.until(({ upstream }) => upstream.last_error === 'it was silent for too long');
  });
});

describe('upstream is not there', () => {
  test('R-7: a relay that is started first waits for its upstream', async () => {
    const parent = await scriptedParent();
    await parent.die();
    const relay = relayBelow(parent.url);
    await relay.until(({ upstream }) => upstream.last_error !== null);
    expect(relay.state()).toBe('ping');
    await parent.listen();
    const client = await relay.client();
    await client.subscribe('1');
    parent.publish('a');
    expect(typesOf(await client.messages(1))).toEqual(['a']);
  });

  test('an upstream that never answers is given up, and tried again', async () => {
    const parent = await scriptedParent();
    parent.habits.welcomes = false;
    const relay = relayBelow(parent.url, IMPATIENT);
    await parent.until(() => parent.connections >= 3);
    expect(relay.status().upstream.last_error).toBe('it was not ready within 0.4 s');
  });

  test('the pauses between attempts are spread around the retry interval (L-1)', async () => {
    const parent = await scriptedParent();
    await parent.die();
    const pauses: number[] = [];
    let random = 0;
    relayBelow(
      parent.url,
      { retryMs: 100_000 },
      {
        random: () => random,
        clock: {
          ...systemClock,
          after(delayMs, work) {
            if (delayMs >= 50_000 && delayMs <= 150_000) {
              pauses.push(delayMs);
              random += 0.25;
              setImmediate(work);
            }
            return { cancel() {} };
          },
        },
      },
    );
    await expect.poll(() => pauses.length).toBeGreaterThan(3);
    expect(pauses.slice(0, 4)).toEqual([50_000, 75_000, 100_000, 125_000]);
  });
});

test('R-6: a client that connects while all are cut is not taken', async () => {
  const { parent, relay } = await small();
  const port = await relay.port();
  const client = await relay.client();
  await parent.die();
  await inState(relay, 'degraded');
  client.publish('a');
  const late = new RawClient(port);
  await late.end();
  expect(late.frames).toEqual([]);
});
