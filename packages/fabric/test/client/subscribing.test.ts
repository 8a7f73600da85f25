import { FABRIC_LIMITS, type Headers, header } from '@muster/fabric';
import type { SubscribeOptions, Subscription } from '@muster/fabric/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { take, World } from './support.js';

let world: World;

beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.end());

const positions = async (subscription: Subscription, count: number) =>
  (await take(subscription, count)).map(({ position }) => position);

describe('a subscription', () => {
  it('sends what it is asked for', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({
      selector: "type = 'a'",
      from: '-1h',
      durable: 'mine',
      ack: 'client-individual',
      slow: 'disconnect',
    });
    await subscription.ready;
    expect(world.server.peer.of('SUBSCRIBE')[0]?.headers).toEqual([
      ['id', '1'],
      ['destination', '/topic/events'],
      ['selector', "type = 'a'"],
      ['ack', 'client-individual'],
      ['from', '-1h'],
      ['durable', 'mine'],
      ['slow', 'disconnect'],
      ['receipt', '1'],
    ]);
  });

  it('that wants everything has no selector', async () => {
    const client = await world.connected();
    await client.subscribe({ selector: '' }).ready;
    await client.subscribe().ready;
    expect(world.server.peer.values('SUBSCRIBE', 'selector')).toEqual([undefined, undefined]);
  });

  it('knows whether some of what it asks for is not for its login', async () => {
    world.server.answer = (peer, got) => {
      const narrowed = got.command === 'SUBSCRIBE' && header(got, 'selector') === undefined;
      if (narrowed) {
        peer.send('RECEIPT', [
          ['receipt-id', header(got, 'receipt') ?? ''],
          ['narrowed', 'true'],
        ]);
      }
      return narrowed;
    };
    const client = await world.connected();
    const [all, some] = [client.subscribe(), client.subscribe({ selector: "type = 'a'" })];
    await Promise.all([all.ready, some.ready]);
    expect([all.narrowed, some.narrowed]).toEqual([true, false]);
  });

  it('gives events as they were published', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await subscription.ready;
    const attributes: Headers = [
      ['type', 'temp.high'],
      ['host', 'db:1'],
      ['host', 'again'],
      ['note', 'two\nlines'],
    ];
    world.server.peer.event('1', 7, [...attributes, ['content-type', 'text/plain']], 'höt');
    const [event] = await take(subscription, 1);
    expect(event).toMatchObject({
      id: '7',
      position: 7,
      type: 'temp.high',
      org: 'acme',
      source: 'acme/ada',
      time: '2026-11-20T12:00:00.000Z',
      attributes,
      contentType: 'text/plain',
      redelivered: false,
    });
    expect([event?.get('host'), event?.get('note'), event?.get('org')]).toEqual(['db:1', 'two\nlines', undefined]);
    expect(event?.text()).toBe('höt');
    expect(event?.body().length).toBe(4);
  });

  it('may be made before there is a connection', async () => {
    const client = world.connect();
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.peer.event('1', 1);
    expect(await positions(subscription, 1)).toEqual([1]);
  });

  it('hears only its own events', async () => {
    const client = await world.connected();
    const [first, second] = [client.subscribe(), client.subscribe()];
    await second.ready;
    world.server.peer.event('2', 1);
    world.server.peer.event('1', 2);
    world.server.peer.event('9', 3);
    world.server.peer.event('1', 4);
    expect(await positions(first, 2)).toEqual([2, 4]);
    expect(await positions(second, 1)).toEqual([1]);
  });

  it('that the server refuses says so, and is not tried again', async () => {
    const client = await world.connected();
    const good = client.subscribe();
    await good.ready;
    world.server.answer = (peer, { command, headers }) => {
      if (command !== 'SUBSCRIBE' || !headers.some(([, value]) => value === 'type =')) return false;
      peer.send('ERROR', [
        ['message', 'invalid search at character 7: a value is missing'],
        ['code', 'invalid_selector'],
        ['receipt-id', headers.find(([name]) => name === 'receipt')?.[1] ?? ''],
      ]);
      return true;
    };
    const bad = client.subscribe({ selector: 'type =' });
    await expect(bad.ready).rejects.toMatchObject({ code: 'invalid_selector', exit: 2 });
    await expect(bad.next()).rejects.toThrow('invalid search at character 7');
    expect((await bad.next()).done).toBe(true);
    await bad.unsubscribe();
    await world.whenTold('lost');
    world.clock.advance(5000);
    await world.whenTold('connected', 2);
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'id')).toEqual([good.id]);
    expect(world.server.peer.of('UNSUBSCRIBE')).toEqual([]);
  });

  it.each([
    [null, 'invalid options: expected an object, got null'],
    [{ selector: 'a\0' }, 'invalid selector: expected a text without NUL'],
    [{ from: -1 }, 'invalid from: expected first, a position, a time'],
    [{ from: new Date(0) }, 'invalid from: expected first, a position, a time'],
    [{ from: 'yesterday' }, 'invalid from: expected first, a position, a time'],
    [{ durable: '' }, 'invalid durable: expected 1 to 128 of A-Z a-z 0-9 _ . -, got an empty text'],
    [{ durable: 'a b' }, 'invalid durable: expected 1 to 128 of A-Z a-z 0-9 _ . -, got another text'],
    [{ ack: true }, 'invalid ack: expected one of auto, client, client-individual, got a boolean'],
    [{ slow: 'drop' }, 'invalid slow: expected one of disconnect, drop-newest, drop-oldest'],
    [{ verify: new Uint8Array(0) }, 'invalid verify: expected a key'],
    [{ onRefused: {} }, 'invalid onRefused: expected a function, got an object'],
    [{ keep: 0 }, 'invalid keep: expected a whole number from 1 on, got the number 0'],
    [{ filter: 'a' }, 'invalid filter: there is no such field; there are selector, from, durable'],
  ])('with %j is refused at once', async (options, message) => {
    const client = await world.connected();
    expect(() => client.subscribe(options as unknown as SubscribeOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_field', message: expect.stringContaining(message) }),
    );
    await client.publish({ type: 'a' });
    expect(world.server.peer.of('SUBSCRIBE')).toEqual([]);
  });

  it('is told where events are missing, without that being a position', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ from: 0 });
    await subscription.ready;
    world.server.peer.event('1', 5);
    world.server.peer.send('MESSAGE', [
      ['subscription', '1'],
      ['destination', '/topic/events'],
      ['message-id', '99'],
      ['type', 'fabric.dropped'],
      ['dropped', '3'],
    ]);
    const [, marker] = await take(subscription, 2);
    expect(marker).toMatchObject({ isMarker: true, position: null });
    expect(marker?.get('dropped')).toBe('3');
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual(['5']);
  });
});

describe('a subscription that the server ends while the connection goes on', () => {
  const refuse = (code: string, more: Headers = []) =>
    world.server.peer.send(
      'MESSAGE',
      [['subscription', '/temp-queue/refused'], ['refused', '1'], ['code', code], ['message', 'no more'], ...more],
      '{"name":"mine"}',
    );

  it.each([
    ['event_durable_taken', "the durable subscription 'mine' was taken over by another connection"],
    ['event_durable_deleted', "the durable subscription 'mine' was deleted"],
    ['of_a_newer_server', 'refused by the server: no more'],
  ])('for %s tells the program, after what has come; the others go on', async (code, message) => {
    const client = await world.connected();
    const ended = client.subscribe({ durable: 'mine', ack: 'client' });
    const other = client.subscribe();
    await Promise.all([ended.ready, other.ready]);
    world.server.peer.event('1', 1);
    refuse(code);
    world.server.peer.event('2', 2);
    expect(await positions(ended, 1)).toEqual([1]);
    await expect(ended.next()).rejects.toThrow(message);
    await ended.unsubscribe();
    expect(await positions(other, 1)).toEqual([2]);
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'id')).toEqual(['2']);
  });

  it('for what passes is taken up again where it was, with the next connection', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ from: 'first' });
    await subscription.ready;
    world.server.peer.event('1', 7);
    refuse('store_unavailable');
    await world.whenTold('lost');
    world.clock.advance(5000);
    await world.whenTold('connected', 2);
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual(['7']);
    world.server.peer.event('1', 8);
    expect(await positions(subscription, 2)).toEqual([7, 8]);
  });

  it('and has ended here already is nothing new', async () => {
    const client = await world.connected();
    await client.subscribe().unsubscribe();
    refuse('store_unavailable');
    await client.publish({ type: 'a' });
    expect(client.status.state).toBe('connected');
  });

  it('is told why an acknowledgement is refused', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ ack: 'client' });
    await subscription.ready;
    world.server.peer.event('1', 1, [
      ['type', 'a'],
      ['ack', 'x'],
    ]);
    const [event] = await take(subscription, 1);
    world.server.habits.receipts = false;
    const acknowledged = event?.ack();
    await world.server.got('ACK', 1);
    const [receipt = ''] = world.server.peer.values('ACK', 'receipt');
    world.server.peer.send('MESSAGE', [
      ['subscription', '/temp-queue/refused'],
      ['receipt-id', receipt],
      ['code', 'store_unavailable'],
    ]);
    await expect(acknowledged).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(client.status.state).toBe('connected');
  });
});

describe('after a lost connection', () => {
  it('L-1, R-2: every live subscription is made again, and goes on', async () => {
    const client = await world.connected();
    const [first, second, ended] = [client.subscribe({ selector: 'a = 1' }), client.subscribe(), client.subscribe()];
    await ended.unsubscribe();
    await second.ready;
    const next = second.next();
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 2);
    expect(world.server.peer.values('SUBSCRIBE', 'id')).toEqual([first.id, second.id]);
    expect(world.server.peer.values('SUBSCRIBE', 'selector')).toEqual(['a = 1', undefined]);
    world.server.peer.event(second.id, 8);
    expect((await next).value?.position).toBe(8);
  });

  it('a subscription with `from` goes on after its last event, so that none is missed or repeated', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ from: 'first' });
    await subscription.ready;
    for (const position of [3, 4, 9]) world.server.peer.event('1', position);
    expect(await positions(subscription, 3)).toEqual([3, 4, 9]);
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual(['9']);
  });

  it('a subscription to which nothing has come asks for the same stretch again', async () => {
    const client = await world.connected();
    await client.subscribe({ from: '-2m' }).ready;
    await client.subscribe({ from: 17 }).ready;
    await client.subscribe({ from: '2026-11-20T12:00:00Z' }).ready;
    await client.subscribe().ready;
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 4);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual(['-125s', '17', '2026-11-20T12:00:00Z', undefined]);
  });

  it('a durable subscription drops what was not read: it comes again', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ durable: 'mine', ack: 'client' });
    await subscription.ready;
    const unread = (position: number) =>
      world.server.peer.event('1', position, [
        ['type', 'a'],
        ['ack', String(position)],
      ]);
    for (const position of [1, 2, 3]) unread(position);
    expect(await positions(subscription, 1)).toEqual([1]);
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 1);
    for (const position of [1, 2]) unread(position);
    expect(await positions(subscription, 2)).toEqual([1, 2]);
  });

  it('a durable subscription leaves it to the server where to go on', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ from: 'first', durable: 'mine', ack: 'client' });
    await subscription.ready;
    world.server.peer.event('1', 3, [
      ['type', 'a'],
      ['ack', 'x'],
    ]);
    await take(subscription, 1);
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual([undefined]);
    expect(world.server.peer.values('SUBSCRIBE', 'durable')).toEqual(['mine']);
  });

  it('a durable subscription that the server may never have taken is asked for again from where it is to begin', async () => {
    const client = await world.connected();
    world.server.answer = (_peer, got) => got.command === 'SUBSCRIBE';
    client.subscribe({ from: 'first', durable: 'mine', ack: 'client' });
    await world.server.got('SUBSCRIBE', 1);
    await world.reconnect();
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual(['first']);
  });
});

describe('ending a subscription', () => {
  it('L-3: lets nothing through any more, also not what is there already', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.answer = (_, { command }) => command === 'UNSUBSCRIBE';
    for (const position of [1, 2]) world.server.peer.event('1', position);
    expect(await positions(subscription, 1)).toEqual([1]);
    const waiting = client.subscribe();
    const next = waiting.next();
    const [ending] = [subscription.unsubscribe(), waiting.unsubscribe()];
    world.server.peer.event('1', 3);
    expect((await subscription.next()).done).toBe(true);
    expect((await next).done).toBe(true);
    await world.server.got('UNSUBSCRIBE', 2);
    world.server.peer.send('RECEIPT', [['receipt-id', world.server.peer.values('UNSUBSCRIBE', 'receipt')[0] ?? '']]);
    await ending;
    expect((await subscription.next()).done).toBe(true);
  });

  it('happens when a loop is left', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.peer.event('1', 1);
    for await (const event of subscription) {
      expect(event.position).toBe(1);
      break;
    }
    expect(world.server.peer.values('UNSUBSCRIBE', 'id')).toEqual(['1']);
    expect(world.server.peer.values('UNSUBSCRIBE', 'durable')).toEqual([undefined]);
  });

  it('may make the server forget a durable one', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ durable: 'mine', ack: 'client' });
    await subscription.unsubscribe({ forget: true });
    expect(world.server.peer.values('UNSUBSCRIBE', 'durable')).toEqual(['mine']);
    await expect(subscription.unsubscribe({ forget: true })).rejects.toThrow();
  });

  it('says when it could not be forgotten', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ durable: 'mine', ack: 'client' });
    await subscription.ready;
    await world.server.die();
    await world.whenTold('lost');
    await expect(subscription.unsubscribe({ forget: true })).rejects.toMatchObject({ code: 'fabric_not_connected' });
  });

  it('says why the server had ended it before it could be forgotten', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ durable: 'mine', ack: 'client' });
    await subscription.ready;
    world.server.answer = (_, { command }) => command === 'UNSUBSCRIBE';
    const forgotten = subscription.unsubscribe({ forget: true });
    await world.server.got('UNSUBSCRIBE', 1);
    const refuse = (code: string, about: Headers) =>
      world.server.peer.send('MESSAGE', [['subscription', '/temp-queue/refused'], ['code', code], ...about]);
    refuse('store_unavailable', [['refused', '1']]);
    const receipt = world.server.peer.values('UNSUBSCRIBE', 'receipt')[0] ?? '';
    refuse('stomp_subscription_missing', [['receipt-id', receipt]]);
    await expect(forgotten).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

describe('acknowledging', () => {
  async function one(ack: string) {
    const client = await world.connected();
    const subscription = client.subscribe({ ack: 'client-individual' });
    await subscription.ready;
    world.server.peer.event('1', 1, [
      ['type', 'a'],
      ['ack', ack],
    ]);
    const [event] = await take(subscription, 1);
    if (event === undefined) throw new Error('no event');
    return event;
  }

  it('resolves when the server has saved it', async () => {
    const event = await one('a:1');
    expect(event.attributes).toEqual([['type', 'a']]);
    await event.ack();
    await event.nack();
    expect(world.server.peer.values('ACK', 'id')).toEqual(['a:1']);
    expect(world.server.peer.values('NACK', 'id')).toEqual(['a:1']);
  });

  it('needs nothing where nothing is to be acknowledged', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.peer.event('1', 1);
    const [event] = await take(subscription, 1);
    await event?.ack();
    expect(world.server.peer.of('ACK')).toEqual([]);
  });

  it('of another connection than the present one is refused, also if nobody waits for it', async () => {
    const event = await one('a:1');
    await world.reconnect();
    void event.ack();
    await expect(event.ack()).rejects.toMatchObject({ code: 'fabric_unconfirmed' });
    expect(world.server.peer.of('ACK')).toEqual([]);
  });
});

describe('a program that does not read', () => {
  const BODY = 'x'.repeat(1000);

  it('leaves what comes with the server, and gets it all when it reads again', async () => {
    const client = await world.connected();
    const slow = client.subscribe({ keep: 10 });
    await slow.ready;
    const { peer } = world.server;
    const count = 20_000;
    for (let position = 1; position <= count; position++) peer.event('1', position, [['type', 'a']], BODY);
    // What the systems on both sides do not take stays here.
    expect(peer.channel.pending).toBeGreaterThan(1_000_000);
    const first = await positions(slow, 10);
    expect(first.at(-1)).toBe(10);
    expect(peer.channel.pending).toBeGreaterThan(1_000_000);
    const rest = await positions(slow, count - 10);
    expect([rest.length, rest.at(-1)]).toEqual([count - 10, count]);
  });

  it('L-6: may publish while it iterates, and gets its receipt', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ keep: 1 });
    await subscription.ready;
    for (let position = 1; position <= 2000; position++) world.server.peer.event('1', position, [['type', 'a']], BODY);
    let published = 0;
    for await (const event of subscription) {
      await client.publish({ type: 'seen', body: event.id });
      published += 1;
      if (published === 20) break;
    }
    expect(world.server.peer.of('SEND')).toHaveLength(20);
  });

  it('and keeps waiting for answers behind too much is told so, and the others go on', async () => {
    const client = await world.connected();
    const [slow, other] = [client.subscribe({ keep: 1 }), client.subscribe()];
    await other.ready;
    world.server.habits.receipts = false;
    const publishing = client.publish({ type: 'a' });
    await world.server.got('SEND', 1);
    const { peer } = world.server;
    const body = 'x'.repeat(100_000);
    const count = Math.ceil(FABRIC_LIMITS.clientBytes / body.length) + 1;
    for (let position = 1; position <= count; position++) peer.event(slow.id, position, [['type', 'a']], body);
    peer.event(other.id, count + 1);
    world.server.habits.receipts = true;
    peer.send('RECEIPT', [['receipt-id', peer.values('SEND', 'receipt')[0] ?? '']]);
    await publishing;
    expect(await positions(other, 1)).toEqual([count + 1]);
    let kept = 0;
    await expect(
      (async () => {
        for await (const _ of slow) kept += 1;
      })(),
    ).rejects.toMatchObject({ code: 'fabric_slow_subscriber' });
    expect(kept).toBeGreaterThan(100);
    await world.server.got('UNSUBSCRIBE', 1);
    expect(peer.values('UNSUBSCRIBE', 'id')).toEqual([slow.id]);
  });

  it('does not take its own deafness for the silence of the server', async () => {
    world.server.habits.heartBeat = '1000,0';
    const client = await world.connected({ heartBeatMs: 1000 });
    const subscription = client.subscribe({ keep: 1 });
    await subscription.ready;
    for (let position = 1; position <= 10; position++) world.server.peer.event('1', position);
    await positions(subscription, 1);
    world.clock.advance(60_000);
    expect(client.status.state).toBe('connected');
    await positions(subscription, 9);
    world.clock.advance(1999);
    expect(client.status.state).toBe('connected');
    world.clock.advance(1);
    await world.whenTold('lost');
  });
});
