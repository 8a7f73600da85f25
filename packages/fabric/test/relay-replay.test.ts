import { type Clock, ManualClock, systemClock } from '@muster/base';
import { afterEach, describe, expect, test } from 'vitest';
import { FABRIC_LIMITS } from '../src/limits.js';
import { type Frame, type Headers, header } from '../src/stomp/frame.js';
import { realRoot, relayBelow, scriptedParent, small, stopAll, tree } from './relay-support/start.js';
import { RawClient, typesOf } from './support/raw-client.js';

afterEach(stopAll);

const send = (type: string): Headers => [
  ['destination', '/topic/events'],
  ['type', type],
];

async function publish(client: RawClient, ...types: readonly string[]): Promise<void> {
  for (const type of types) await client.ask('SEND', send(type));
}

async function acknowledge(client: RawClient, message: Frame | undefined, command = 'ACK'): Promise<void> {
  await client.ask(command, [['id', header(message ?? { headers: [] }, 'ack') ?? '']]);
}

describe('F6: subscriptions with from', () => {
  test('it is passed up, and goes on live after the past', async () => {
    const { root, leaf } = await tree(2);
    const publisher = await root.client();
    await publish(publisher, 'one', 'two');
    const client = await leaf.client();
    await client.subscribe('1', '', [['from', 'first']]);
    await publish(publisher, 'three');
    expect(typesOf(await client.messages(3))).toEqual(['one', 'two', 'three']);
    await client.barrier();
    expect(client.frames).toEqual([]);
    expect(leaf.status()).toMatchObject({ passed_up: 1, subscriptions: 1 });
  });

  test('only what the client may follow is asked for', async () => {
    const { root, leaf } = await tree(2);
    root.authority.set('default/limited', { subscribe: { granted: ['temp.*'], restricted: [], open: [] } });
    await publish(await root.client(), 'temp.low', 'secret', 'temp.high');
    const client = await leaf.client('default/limited');
    await client.subscribe('1', "type <> 'temp.low'", [['from', 'first']]);
    expect(typesOf(await client.messages(1))).toEqual(['temp.high']);
    await client.barrier();
    expect(client.frames).toEqual([]);
  });

  test('what the relay may not follow itself ends the session of the client that asks for it, and no other', async () => {
    const { root, leaf } = await tree(1);
    root.authority.set('default/relay', { relay: true, subscribe: { granted: ['temp.*'], restricted: [], open: [] } });
    root.authority.revoke({ org: 'default', principal: 'default/relay' });
    await leaf.until(({ upstream }) => upstream.connects === 2 && upstream.state === 'serving');
    await leaf.until(({ listen }) => listen.length > 0);
    const [client, other] = [await leaf.client(), await leaf.client()];
    client.send('SUBSCRIBE', [
      ['id', '1'],
      ['destination', '/topic/events'],
      ['selector', "type = 'push.job'"],
      ['from', 'first'],
    ]);
    expect(header(await client.error(), 'code')).toBe('event_subscribe_denied');
    await publish(other, 'after');
  });

  test('UNSUBSCRIBE, and the end of the session, end it upstream', async () => {
    const { parent, relay } = await small();
    const [one, other] = [await relay.client(), await relay.client()];
    for (const client of [one, other]) await client.subscribe('1', '', [['from', '5']]);
    const ids = parent
      .of('SUBSCRIBE')
      .slice(1)
      .map((frame) => header(frame, 'id'));
    await one.ask('UNSUBSCRIBE', [['id', '1']]);
    other.socket.destroy();
    await parent.until(() => parent.of('UNSUBSCRIBE').length === 2);
    expect(parent.of('UNSUBSCRIBE').map((frame) => header(frame, 'id'))).toEqual(ids);
    expect(relay.status().passed_up).toBe(0);
  });

  test('after an outage it goes on where it was: nothing is missed or repeated', async () => {
    const { root, relays, leaf } = await tree(2);
    const publisher = await root.client();
    const client = await leaf.client();
    await client.subscribe('1', '', [['from', 'first']]);
    await publish(publisher, 'one');
    expect(typesOf(await client.messages(1))).toEqual(['one']);
    // The upper relay loses its login, and with it its connection; nobody below publishes, so that all stay.
    root.authority.revoke({ org: 'default', principal: 'default/relay' });
    await relays[0]?.until(({ upstream }) => upstream.state !== 'serving');
    await publish(publisher, 'two', 'three');
    await relays[0]?.until(({ upstream }) => upstream.state === 'serving');
    await publish(publisher, 'four');
    expect(typesOf(await client.messages(3))).toEqual(['two', 'three', 'four']);
    await client.barrier();
    expect(client.frames).toEqual([]);
  });

  test('after an outage one that has not heard of anything yet begins where it began', async () => {
    const parent = await scriptedParent();
    let later = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later };
    const relay = relayBelow(parent.url, {}, { clock });
    const client = await relay.client();
    await client.subscribe('1', '', [['from', '-10s']]);
    later = 300_000;
    await parent.die();
    await relay.until(({ upstream }) => upstream.state === 'degraded');
    await parent.listen();
    await parent.until(() => parent.of('SUBSCRIBE').length === 4);
    const [asked, again] = parent.of('SUBSCRIBE').flatMap((one) => header(one, 'from') ?? []);
    expect(asked).toBe('-10s');
    expect(Number(again?.slice(1, -1))).toBeGreaterThanOrEqual(310);
  });

  test('F6: a client that reads slowly gets all of a long past, and the relay keeps little of it', async () => {
    const root = await realRoot();
    const publisher = await root.client();
    const count = 4000;
    const body = 'x'.repeat(3800);
    for (let n = 0; n < count; n++) publisher.publish('a', [['n', String(n)]], body);
    await publish(publisher, 'end');
    const upper = relayBelow(root.port);
    const leaf = relayBelow(await upper.port());
    const [slow, other] = [await leaf.client(), await leaf.client()];
    await other.subscribe('live', "type = 'b'");
    slow.socket.pause();
    slow.send('SUBSCRIBE', [
      ['id', '1'],
      ['destination', '/topic/events'],
      ['from', 'first'],
    ]);
    await leaf.until(({ queued }) => queued.largest > 0);
    await publish(publisher, 'b');
    expect(typesOf(await other.messages(1))).toEqual(['b']);
    expect(leaf.status().queued.largest).toBeLessThan(2 * 1024 * 1024);
    slow.socket.resume();
    const got = await slow.messages(count + 2);
    expect(got.slice(0, count).map((message) => header(message, 'n'))).toEqual([...Array(count).keys()].map(String));
  });

  test('the end of what is kept is told through relays', async () => {
    const { root, leaf } = await tree(2);
    const publisher = await root.client();
    await publish(publisher, 'one', 'two', 'three');
    root.log.prune(2);
    const client = await leaf.client();
    await client.subscribe('1', '', [['from', '1']]);
    const [marker, message] = await client.messages(2);
    expect(marker && [header(marker, 'type'), header(marker, 'dropped')]).toEqual(['fabric.dropped', '1']);
    expect(message && header(message, 'type')).toBe('three');
  });
});

describe('durable subscriptions', () => {
  const durable: Headers = [
    ['durable', 'd'],
    ['ack', 'client-individual'],
  ];

  test('what was not acknowledged comes again, whichever relay the client comes to', async () => {
    const { root, relays, leaf } = await tree(2);
    const publisher = await root.client();
    const before = await leaf.client();
    await before.subscribe('1', '', durable);
    await publish(publisher, 'one', 'two', 'three');
    const [one, , three] = await before.messages(3);
    await acknowledge(before, one);
    await acknowledge(before, three);
    before.socket.destroy();
    await leaf.until(({ passed_up }) => passed_up === 0);
    const after = await (relays[0] ?? leaf).client();
    await after.subscribe('x', '', durable);
    expect(typesOf(await after.messages(1))).toEqual(['two']);
    await after.barrier();
    expect(after.frames).toEqual([]);
  });

  test('it belongs to the client, not to the relay, and to a user or a client of that name', async () => {
    const { root, leaf } = await tree(2);
    root.authority.set('default/owner', { kind: 'user' });
    const client = await leaf.client('default/owner');
    await client.subscribe('1', "type = 'a'", durable);
    expect((await root.cursors.list('default')).map(({ principal, kind, name }) => [principal, kind, name])).toEqual([
      ['default/owner', 'user', 'd'],
    ]);
    await client.ask('UNSUBSCRIBE', [
      ['id', '1'],
      ['durable', 'd'],
    ]);
    expect(await root.cursors.list('default')).toEqual([]);
  });

  test('ack:client acknowledges everything before it, too', async () => {
    const { root, leaf } = await tree(2);
    const publisher = await root.client();
    const client = await leaf.client();
    const cumulative: Headers = [
      ['durable', 'd'],
      ['ack', 'client'],
    ];
    await client.subscribe('1', '', cumulative);
    await publish(publisher, 'one', 'two', 'three');
    const [, two] = await client.messages(3);
    await acknowledge(client, two);
    await client.ask('UNSUBSCRIBE', [['id', '1']]);
    await client.subscribe('2', '', cumulative);
    expect(typesOf(await client.messages(1))).toEqual(['three']);
  });

  test('what is refused comes again, marked', async () => {
    const { root, leaf } = await tree(2);
    const client = await leaf.client();
    await client.subscribe('1', '', durable);
    await publish(await root.client(), 'one');
    const [first] = await client.messages(1);
    await acknowledge(client, first, 'NACK');
    const [again] = await client.messages(1);
    expect(again && [header(again, 'type'), header(again, 'redelivered')]).toEqual(['one', 'true']);
    await acknowledge(client, again);
  });

  test('what was refused may be acknowledged after all, before it comes again', async () => {
    const { root, leaf } = await tree(2);
    const client = await leaf.client();
    await client.subscribe('1', '', durable);
    await publish(await root.client(), 'one');
    const [one] = await client.messages(1);
    const ack = (one && header(one, 'ack')) ?? '';
    client.send('NACK', [['id', ack]]);
    client.send('ACK', [
      ['id', ack],
      ['receipt', 'r'],
    ]);
    while (header(await client.next(), 'receipt-id') !== 'r');
    expect((await root.cursors.list('default'))[0]).toMatchObject({ through: root.log.last() });
  });

  test('of several acknowledgements the one that was asked for goes last, and asks for the receipt', async () => {
    const parent = await scriptedParent();
    const relay = relayBelow(parent.url);
    const client = await relay.client();
    await client.subscribe('1', '', [
      ['durable', 'd'],
      ['ack', 'client'],
    ]);
    const id = header(parent.of('SUBSCRIBE').at(-1) ?? { headers: [] }, 'id') ?? '';
    const deliver = (position: number) =>
      parent.send('MESSAGE', [
        ['subscription', id],
        ['message-id', String(position)],
        ['ack', `up-${position}`],
        ['destination', '/topic/events'],
        ['type', 'a'],
      ]);
    const refusals = 5;
    for (let times = 1; times <= refusals; times++) {
      deliver(1);
      const [one] = await client.messages(1);
      client.send('NACK', [['id', (one && header(one, 'ack')) ?? '']]);
      await parent.until(() => parent.of('NACK').length === times);
    }
    deliver(2);
    deliver(1);
    const [two] = await client.messages(2);
    client.send('ACK', [
      ['id', (two && header(two, 'ack')) ?? ''],
      ['receipt', 'r'],
    ]);
    await parent.until(() => parent.of('ACK').length === 2);
    expect(parent.of('ACK').map((ack) => [header(ack, 'id'), header(ack, 'receipt') !== undefined])).toEqual([
      ['up-1', false],
      ['up-2', true],
    ]);
  });

  test('an acknowledgement that is repeated is confirmed when the first one is saved', async () => {
    const { root, leaf } = await tree(2);
    const client = await leaf.client();
    await client.subscribe('1', '', durable);
    await publish(await root.client(), 'one');
    const [one] = await client.messages(1);
    const ack = (one && header(one, 'ack')) ?? '';
    client.send('ACK', [['id', ack]]);
    client.send('ACK', [
      ['id', ack],
      ['receipt', 'r'],
    ]);
    expect(header(await client.next(), 'receipt-id')).toBe('r');
    expect((await root.cursors.list('default'))[0]).toMatchObject({ through: root.log.last() });
  });

  test('an acknowledgement of what is given up is confirmed when that is saved', async () => {
    const parent = await scriptedParent();
    const relay = relayBelow(parent.url);
    const client = await relay.client();
    await client.subscribe('1', '', durable);
    const subscription = header(parent.of('SUBSCRIBE').at(-1) ?? { headers: [] }, 'id') ?? '';
    let ack = '';
    for (let times = 1; times <= FABRIC_LIMITS.redeliveries; times++) {
      parent.send('MESSAGE', [
        ['subscription', subscription],
        ['ack', 'up-1'],
        ['destination', '/topic/events'],
        ['message-id', '1'],
        ['type', 'a'],
      ]);
      const [message] = await client.messages(1);
      ack = (message && header(message, 'ack')) ?? '';
      client.send('NACK', [['id', ack]]);
      await parent.until(() => parent.of('NACK').length === times);
    }
    client.send('ACK', [
      ['id', ack],
      ['receipt', 'r'],
    ]);
    await parent.until(() => parent.of('ACK').length === 1);
    expect(header(parent.of('ACK')[0] ?? { headers: [] }, 'id')).toBe('up-1');
    expect(header(await client.next(), 'receipt-id')).toBe('r');
  });

  test('one that upstream may never have taken is asked for again from where it is to begin', async () => {
    const parent = await scriptedParent();
    const relay = relayBelow(parent.url);
    const client = await relay.client();
    await relay.until(({ upstream }) => upstream.state === 'serving');
    parent.habits.welcomes = false;
    client.send('SUBSCRIBE', [['id', '1'], ['destination', '/topic/events'], ['from', 'first'], ...durable]);
    await parent.until(() => parent.of('SUBSCRIBE').length === 2);
    await parent.die();
    parent.habits.welcomes = true;
    await relay.until(({ upstream }) => upstream.state === 'degraded');
    await parent.listen();
    await parent.until(() => parent.of('SUBSCRIBE').length === 4);
    const asked = parent.of('SUBSCRIBE').filter((one) => header(one, 'durable') !== undefined);
    expect(asked.map((one) => header(one, 'from'))).toEqual(['first', 'first']);
  });

  test('whoever comes later has it; the client of before is told, the others of its relay go on', async () => {
    const { leaf } = await tree(2);
    const [before, after, other] = [await leaf.client(), await leaf.client(), await leaf.client()];
    await before.subscribe('1', '', durable);
    await after.subscribe('1', '', durable);
    expect(header(await before.error(), 'code')).toBe('event_durable_taken');
    await publish(other, 'a');
    expect(typesOf(await after.messages(1))).toEqual(['a']);
  });

  test('one that is deleted at the root ends for its client, and the others of its relay go on', async () => {
    const { root, leaf } = await tree(2);
    const [client, other] = [await leaf.client(), await leaf.client()];
    await client.subscribe('1', '', durable);
    await other.subscribe('1');
    await root.root.forget({ org: 'default', principal: 'default/client', kind: 'node', name: 'd' });
    expect(header(await client.error(), 'code')).toBe('event_durable_deleted');
    expect(await root.cursors.list('default')).toEqual([]);
    await publish(other, 'a');
    expect(typesOf(await other.messages(1))).toEqual(['a']);
    expect(leaf.status().drops.count).toBe(0);
  });

  test('one that is refused is told of once, and another one of its id goes on', async () => {
    const { root, leaf } = await tree(1);
    const client = new RawClient(await leaf.port());
    await client.connect('default/client', { headers: [['refusals', 'message']] });
    root.cursors.failing = true;
    client.send('SUBSCRIBE', [['id', '1'], ['destination', '/topic/events'], ['receipt', 'a'], ...durable]);
    const refusal = await client.next();
    expect([header(refusal, 'code'), header(refusal, 'receipt-id')]).toEqual(['store_unavailable', 'a']);
    root.cursors.failing = false;
    await client.subscribe('1', '', durable);
    await publish(await root.client(), 'one');
    expect(typesOf(await client.messages(1))).toEqual(['one']);
    expect(client.frames).toEqual([]);
    expect(leaf.status().passed_up).toBe(1);
    client.socket.destroy();
  });

  test('why upstream has ended one is told also to whom it was to be forgotten for', async () => {
    const parent = await scriptedParent();
    const relay = relayBelow(parent.url);
    const client = new RawClient(await relay.port());
    await client.connect('default/client', { headers: [['refusals', 'message']] });
    await client.subscribe('1', '', durable);
    const id = header(parent.of('SUBSCRIBE').at(-1) ?? { headers: [] }, 'id') ?? '';
    parent.send('MESSAGE', [
      ['subscription', id],
      ['ack', 'up-1'],
      ['destination', '/topic/events'],
      ['message-id', '1'],
      ['type', 'a'],
    ]);
    const [message] = await client.messages(1);
    parent.habits.confirms = false;
    client.send('ACK', [
      ['id', (message && header(message, 'ack')) ?? ''],
      ['receipt', 'ack'],
    ]);
    client.send('UNSUBSCRIBE', [
      ['id', '1'],
      ['durable', 'd'],
      ['receipt', 'forget'],
    ]);
    await parent.until(() => parent.of('UNSUBSCRIBE').length === 1);
    const refuse = (command: string, code: string): void => {
      const receipt = header(parent.of(command)[0] ?? { headers: [] }, 'receipt') ?? '';
      parent.send('MESSAGE', [
        ['subscription', '/temp-queue/refused'],
        ['receipt-id', receipt],
        ['code', code],
        ...(command === 'ACK' ? [['refused', id] as const] : []),
      ]);
    };
    refuse('ACK', 'store_unavailable');
    refuse('UNSUBSCRIBE', 'stomp_subscription_missing');
    const refusals = await client.messages(2);
    expect(refusals.map((refusal) => [header(refusal, 'receipt-id'), header(refusal, 'code')])).toEqual([
      ['ack', 'store_unavailable'],
      ['forget', 'store_unavailable'],
    ]);
    client.socket.destroy();
  });

  test('a client that leaves before its subscription has begun costs its relay nothing', async () => {
    const root = await realRoot();
    const clock = new ManualClock();
    const relay = relayBelow(root.port, { heartBeatMs: 0 }, { clock });
    const letGo = root.cursors.hold();
    const [client, other] = [await relay.client(), await relay.client('default/other')];
    client.send('SUBSCRIBE', [['id', '1'], ['destination', '/topic/events'], ...durable]);
    await root.until(() => root.cursors.waiting === 1);
    client.socket.destroy();
    await relay.until(({ passed_up }) => passed_up === 0);
    await publish(other, 'a');
    letGo();
    await publish(other, 'b');
    clock.advance(60_000);
    await publish(other, 'c');
    expect(relay.status().upstream).toMatchObject({ state: 'serving', connects: 1 });
  });

  test('F6: a client that reads slowly gets all that waits for it, once and in order, however much that is', async () => {
    const root = await realRoot();
    const publisher = await root.client();
    const count = 1000;
    for (let n = 0; n < count; n++) publisher.publish('a', [['n', String(n)]], 'x'.repeat(3800));
    await publisher.barrier();
    const limit = 256 * 1024;
    const upper = relayBelow(root.port, { outboundBytes: limit });
    const leaf = relayBelow(await upper.port(), { outboundBytes: limit });
    const client = await leaf.client();
    client.socket.pause();
    const names = ['1', '2'];
    for (const name of names) {
      client.send('SUBSCRIBE', [
        ['id', name],
        ['destination', '/topic/events'],
        ['durable', name],
        ['ack', 'client-individual'],
        ['from', 'first'],
      ]);
    }
    await leaf.until(({ queued }) => queued.largest > limit / 4);
    client.socket.resume();
    const got = await client.messages(names.length * count);
    for (const name of names) {
      const ofName = got.filter((message) => header(message, 'subscription') === name);
      expect(ofName.map((message) => header(message, 'n'))).toEqual([...Array(count).keys()].map(String));
    }
    await acknowledge(client, got.at(-1));
    expect(client.frames).toEqual([]);
  });

  test('what upstream sends before it holds a subscription is dropped, and asked for again', async () => {
    const parent = await scriptedParent();
    parent.habits.passesDown = false;
    parent.habits.confirms = false;
    const relay = relayBelow(parent.url, { outboundBytes: 1024 });
    const client = await relay.client();
    await client.subscribe('1', '', durable);
    const id = header(parent.of('SUBSCRIBE').at(-1) ?? { headers: [] }, 'id') ?? '';
    const deliver = (...positions: readonly number[]): void => {
      for (const position of positions) {
        const headers: Headers = [
          ['subscription', id],
          ['ack', `up-${position}`],
          ['destination', '/topic/events'],
          ['message-id', String(position)],
          ['type', 'a'],
        ];
        parent.send('MESSAGE', headers, 'x'.repeat(600));
      }
    };
    const sentTo = (destination: string) =>
      parent.of('SEND').filter((one) => header(one, 'destination') === destination);
    deliver(11, 12, 13);
    await parent.until(() => sentTo('/muster/hold').length === 1);
    const [hold] = sentTo('/muster/hold');
    expect(hold && [header(hold, 'subscription'), header(hold, 'after')]).toEqual([id, '11']);
    deliver(14);
    parent.send('RECEIPT', [['receipt-id', (hold && header(hold, 'receipt')) ?? '']]);
    await parent.until(() => sentTo('/muster/release').length === 1);
    deliver(12);
    const got = await client.messages(2);
    expect(got.map((message) => header(message, 'message-id'))).toEqual(['11', '12']);
  });

  test('an acknowledgement that cannot go up is not confirmed', async () => {
    const { root, relays, leaf } = await tree(1);
    const client = await leaf.client();
    await client.subscribe('1', '', durable);
    await publish(await root.client(), 'one');
    const [one] = await client.messages(1);
    await root.end();
    await relays[0]?.until(({ upstream }) => upstream.state === 'degraded');
    client.send('ACK', [
      ['id', (one && header(one, 'ack')) ?? ''],
      ['receipt', 'r'],
    ]);
    const error = await client.error();
    expect([header(error, 'code'), header(error, 'receipt-id')]).toEqual(['upstream_failed', 'r']);
    expect(leaf.status().drops.count).toBe(0);
  });
});
