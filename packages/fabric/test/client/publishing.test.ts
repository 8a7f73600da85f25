import { header } from '@muster/fabric';
import type { PublishOptions, RequestOptions } from '@muster/fabric/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { take, World } from './support.js';

let world: World;

beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.end());

describe('publishing', () => {
  it('sends type, attributes in order, and body, and resolves with the receipt', async () => {
    const client = await world.connected();
    const receipt = await client.publish({
      type: 'temp.high',
      attributes: [
        ['host', 'db:1'],
        ['celsius', '81'],
        ['host', 'again'],
      ],
      token: 't',
      body: 'hö\0t',
    });
    expect(receipt).toEqual({});
    const [sent] = world.server.peer.of('SEND');
    expect(sent?.headers).toEqual([
      ['destination', '/topic/events'],
      ['type', 'temp.high'],
      ['host', 'db:1'],
      ['celsius', '81'],
      ['host', 'again'],
      ['token', 't'],
      ['receipt', '1'],
      ['content-length', '5'],
    ]);
    expect(Buffer.from(sent?.body ?? []).toString()).toBe('hö\0t');
  });

  it('in the future answers the id of the future event', async () => {
    const client = await world.connected();
    world.server.answer = (peer, got) => {
      if (got.command !== 'SEND') return false;
      peer.send('RECEIPT', [
        ['receipt-id', header(got, 'receipt') ?? ''],
        ['scheduled', 'f-1'],
      ]);
      return true;
    };
    expect(await client.publish({ type: 'a', at: '2026-12-01T00:00:00Z' })).toEqual({ scheduled: 'f-1' });
    expect(await client.publish({ type: 'a', at: 1_800_000_000_000 })).toEqual({ scheduled: 'f-1' });
    expect(world.server.peer.values('SEND', 'at')).toEqual(['2026-12-01T00:00:00Z', '1800000000000']);
  });

  it('keeps the order in which it was asked for, signed or not', async () => {
    const client = await world.connected();
    const events = Array.from({ length: 20 }, (_, index) => ({
      type: `n${index}`,
      ...(index % 3 === 0 && { sign: 'key' }),
    }));
    await Promise.all(
      events.map((event, index) => (index % 2 === 0 ? client.publish(event) : client.publishNow(event))),
    );
    await client.publish({ type: 'last' });
    expect(world.server.peer.values('SEND', 'type')).toEqual([...events.map(({ type }) => type), 'last']);
  });

  it('refuses what the server would end the connection for', async () => {
    const client = await world.connected();
    const bad = [
      { type: '' },
      { type: 'with blank' },
      { type: 'x'.repeat(129) },
      ...[
        'org',
        'source',
        'source-kind',
        'time',
        'message-id',
        'type',
        'destination',
        'receipt',
        'ack',
        'signature',
        '',
      ].map((name) => ({ type: 'a', attributes: [[name, 'v']] as [string, string][] })),
      { type: 'a', attributes: [['n'.repeat(257), 'v']] as [string, string][] },
      { type: 'a', attributes: [['n', 'v\0']] as [string, string][] },
      { type: 'a', token: '\0' },
    ];
    for (const event of bad) {
      await expect(client.publish(event)).rejects.toMatchObject({ code: 'invalid_field' });
      await expect(client.publishNow({ ...event, sign: 'key' })).rejects.toMatchObject({ code: 'invalid_field' });
    }
    await client.publish({ type: 'good' });
    expect(world.server.peer.values('SEND', 'type')).toEqual(['good']);
  });

  it.each([
    [undefined, 'invalid event: expected an object, got undefined'],
    [{}, 'invalid type: expected a text of 1 to 128 of A-Z a-z 0-9 _ . -, got undefined'],
    [{ type: 7 }, 'invalid type: expected a text of 1 to 128 of A-Z a-z 0-9 _ . -, got the number 7'],
    [
      { type: 'a', attributes: 'b=c' },
      "invalid attributes: expected a list such as [['host', 'db1']] or an object such",
    ],
    [
      { type: 'a', attributes: ['b'] },
      "invalid attributes[0]: expected a name and a value such as ['host', 'db1'], got",
    ],
    [
      {
        type: 'a',
        attributes: [
          ['b', 'c'],
          [1, 2],
        ],
      },
      'invalid attributes[1]: expected a name without NUL, got the number',
    ],
    [
      { type: 'a', attributes: { b: undefined } },
      'invalid attribute "b": expected a text without NUL, a number, true or',
    ],
    [
      { type: 'a', attributes: { b: {} } },
      'invalid attribute "b": expected a text without NUL, a number, true or false',
    ],
    [
      { type: 'a', attributes: [['b', Number.NaN]] },
      'invalid attribute "b": expected a text without NUL, a number, true',
    ],
    [
      { type: 'a', attributes: { source: 'me' } },
      'invalid attribute "source": a name of the protocol, as are type, token',
    ],
    [
      { type: 'a', body: { a: 1 } },
      'invalid body: expected text or bytes (Uint8Array); JSON.stringify makes text of any',
    ],
    [{ type: 'a', body: null }, 'invalid body: expected text or bytes'],
    [{ type: 'a', token: 5 }, 'invalid token: expected a text without NUL, got the number 5'],
    [{ type: 'a', sign: '' }, 'invalid sign: expected a key: text or bytes (Uint8Array), not empty, got an empty text'],
    [
      { type: 'a', at: new Date(0) },
      'invalid at: expected a time with its zone such as 2026-11-20T12:00:00Z, or millis',
    ],
    [{ type: 'a', at: 'tomorrow' }, 'invalid at: expected a time'],
    [{ type: 'a', at: -1 }, 'invalid at: expected a time'],
    [{ type: 'a', contentType: 1 }, 'invalid contentType: expected a text without NUL'],
    [{ type: 'a', attrs: [] }, 'invalid attrs: there is no such field; there are type, attributes, body, contentType'],
  ])('of %j is refused with the field that is wrong', async (event, message) => {
    const client = await world.connected();
    const wrong = event as unknown as PublishOptions;
    const expected = { code: 'invalid_field', message: expect.stringContaining(message) };
    await expect(client.publish(wrong)).rejects.toMatchObject(expected);
    await expect(client.publishNow(wrong)).rejects.toMatchObject(expected);
    await expect(client.request(wrong, { timeoutMs: 1000 })).rejects.toMatchObject(expected);
    expect(world.server.peer.of('SEND')).toEqual([]);
  });

  it('takes attributes as an object, too, and numbers and Booleans as values', async () => {
    const client = await world.connected();
    await client.publish({ type: 'a', attributes: { host: 'db1', celsius: 81.5, up: false } });
    await client.publish({
      type: 'a',
      attributes: [
        ['n', -1e21],
        ['up', true],
      ],
    });
    expect(world.server.peer.of('SEND').map(({ headers }) => headers.slice(2, -1))).toEqual([
      [
        ['host', 'db1'],
        ['celsius', '81.5'],
        ['up', 'false'],
      ],
      [
        ['n', '-1e+21'],
        ['up', 'true'],
      ],
    ]);
  });

  it('tells the type of the body, which is not signed', async () => {
    const client = await world.connected();
    const json = { type: 'a', body: '{}', sign: 'key' };
    await client.publish(json);
    await client.publish({ ...json, contentType: 'application/json' });
    const signatures = world.server.peer.values('SEND', 'signature');
    expect(signatures[0]).toBe(signatures[1]);
    expect(world.server.peer.values('SEND', 'content-type')).toEqual([undefined, 'application/json']);
  });

  it('that the server refuses rejects with what it says, and what it did not come to is uncertain', async () => {
    const client = await world.connected();
    world.server.answer = (peer, got) => {
      if (header(got, 'type') !== 'forbidden') return got.command === 'SEND';
      peer.send('ERROR', [
        ['message', 'acme/ada may not publish forbidden'],
        ['code', 'forbidden'],
        ['receipt-id', header(got, 'receipt') ?? ''],
      ]);
      return true;
    };
    const [before, refused] = [client.publish({ type: 'before' }), client.publish({ type: 'forbidden' })];
    await expect(refused).rejects.toMatchObject({ code: 'forbidden', message: 'acme/ada may not publish forbidden' });
    await expect(before).rejects.toMatchObject({ code: 'fabric_unconfirmed' });
  });

  it('that was under way when the connection was lost is uncertain, and never sent again', async () => {
    const client = await world.connected();
    world.server.answer = (_, { command }) => command === 'SEND';
    const publishing = client.publish({ type: 'a' });
    await world.server.got('SEND', 1);
    world.server.peer.channel.destroy();
    await expect(publishing).rejects.toThrow(
      /^the connection was lost before the receipt \(.*\): it may or may not have been published$/,
    );
    await world.whenTold('lost');
    await expect(client.publish({ type: 'b' })).rejects.toMatchObject({ code: 'fabric_not_connected' });
    await expect(client.publishNow({ type: 'b' })).rejects.toMatchObject({ code: 'fabric_not_connected' });
    world.server.answer = () => false;
    world.clock.advance(5000);
    await world.whenTold('connected', 2);
    await client.publish({ type: 'c' });
    expect(world.server.peer.values('SEND', 'type')).toEqual(['c']);
  });

  it('without a receipt waits when the server does not read, and goes on when it does', async () => {
    const client = await world.connected();
    world.server.peer.channel.pause();
    const body = new Uint8Array(100_000);
    let sent = 0;
    const publishing = (async () => {
      for (; sent < 300; sent++) await client.publishNow({ type: 'a', body });
    })();
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    expect(sent).toBeLessThan(300);
    world.server.peer.channel.resume();
    await publishing;
    await world.server.got('SEND', 300);
  });
});

describe('a command and its completion', () => {
  it('find each other by the token', async () => {
    world.server.habits.echoes = true;
    const [asking, doing] = [await world.connected(), await world.connected()];
    const commands = doing.subscribe({ selector: "type = 'reboot'" });
    await commands.ready;
    const working = (async () => {
      const [command] = await take(commands, 1);
      if (command === undefined) throw new Error('no command');
      await doing.complete(command, 3, { attributes: [['detail', 'no power']], body: 'log' });
    })();
    const { error, message } = await asking.request({ type: 'reboot' }, { timeoutMs: 60_000 });
    await working;
    expect([error, message.get('detail'), message.text()]).toEqual([3, 'no power', 'log']);
    const asked = world.server.peers[0];
    expect(asked?.values('SUBSCRIBE', 'selector')).toEqual([
      `type = 'complete' AND token = '${asked?.values('SEND', 'token')[0]}'`,
    ]);
    expect(asked?.frames.map(({ command }) => command)).toEqual(['CONNECT', 'SUBSCRIBE', 'SEND', 'UNSUBSCRIBE']);
  });

  it('by a token that is given, whatever it is made of', async () => {
    const client = await world.connected();
    const waiting = client.request({ type: 'go', token: "it's" }, { timeoutMs: 1000 });
    await world.server.got('SEND', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'selector')).toEqual(["type = 'complete' AND token = 'it''s'"]);
    world.server.peer.event('1', 9, [
      ['type', 'complete'],
      ['token', "it's"],
      ['error', '0'],
    ]);
    expect((await waiting).error).toBe(0);
  });

  it('is waited for also when events may be missing', async () => {
    const client = await world.connected();
    const waiting = client.request({ type: 'go', token: 't' }, { timeoutMs: 1000 });
    await world.server.got('SEND', 1);
    world.server.peer.send('MESSAGE', [
      ['subscription', '1'],
      ['destination', '/topic/events'],
      ['message-id', 'dropped-1-1'],
      ['type', 'fabric.dropped'],
      ['reason', 'a relay had lost its upstream'],
    ]);
    world.server.peer.event('1', 9, [
      ['type', 'complete'],
      ['token', 't'],
      ['error', '0'],
    ]);
    expect((await waiting).error).toBe(0);
  });

  it('is given up after a while, and leaves nothing behind', async () => {
    const client = await world.connected();
    const waiting = client.request({ type: 'go' }, { timeoutMs: 90_000 });
    const end = expect(waiting).rejects.toMatchObject({
      code: 'fabric_no_completion',
      message: 'no completion came within 90 s',
    });
    await world.server.got('SEND', 1);
    await client.publish({ type: 'flush' });
    world.clock.advance(90_000);
    await end;
    await world.server.got('UNSUBSCRIBE', 1);
  });

  it('is not missed when it comes while the connection is lost', async () => {
    const client = await world.connected();
    const waiting = client.request({ type: 'go' }, { timeoutMs: 60_000 });
    await world.server.got('SEND', 1);
    await client.publish({ type: 'flush' });
    world.server.peer.channel.destroy();
    await world.whenTold('lost');
    world.clock.advance(5000);
    await world.whenTold('connected', 2);
    await world.server.got('SUBSCRIBE', 1);
    expect(world.server.peer.values('SUBSCRIBE', 'from')).toEqual(['-10s']);
    world.server.peer.event('1', 9, [
      ['type', 'complete'],
      ['error', '7'],
    ]);
    expect((await waiting).error).toBe(7);
    expect(world.server.peer.of('SEND')).toEqual([]);
  });

  it('that is refused or cannot be sent says so', async () => {
    const client = await world.connected();
    await expect(client.request({ type: 'bad type' }, { timeoutMs: 1000 })).rejects.toMatchObject({
      code: 'invalid_field',
    });
    await world.server.die();
    await world.whenTold('lost');
    await expect(client.request({ type: 'go' }, { timeoutMs: 1000 })).rejects.toMatchObject({
      code: 'fabric_not_connected',
    });
  });

  it.each([
    [undefined, 'invalid options: expected an object, got undefined'],
    [{}, 'invalid timeoutMs: expected a number from 0 to 315360000000 (milliseconds), got undefined'],
    [{ timeoutMs: Number.NaN }, 'invalid timeoutMs: expected a number from 0'],
    [{ timeout: 1000 }, 'invalid timeout: there is no such field; there are timeoutMs'],
  ])('is not waited for with %j', async (options, message) => {
    const client = await world.connected();
    await expect(client.request({ type: 'go' }, options as unknown as RequestOptions)).rejects.toMatchObject({
      code: 'invalid_field',
      message: expect.stringContaining(message),
    });
    expect(world.server.peer.of('SUBSCRIBE')).toEqual([]);
  });

  it('is not planned for the future', async () => {
    const client = await world.connected();
    const later = { type: 'go', at: '2026-12-01T00:00:00Z' };
    await expect(client.request(later, { timeoutMs: 1000 })).rejects.toThrow('invalid at: the completion of a future');
    expect(world.server.peer.of('SUBSCRIBE')).toEqual([]);
  });

  it('needs a whole number in the completion', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.peer.event('1', 1, [
      ['type', 'go'],
      ['token', 't'],
    ]);
    const [event] = await take(subscription, 1);
    if (event === undefined) throw new Error('no event');
    await expect(client.complete(event, 0.5)).rejects.toThrow('invalid error: expected a whole number, 0 when');
    await client.complete(event, 0, { attributes: { took: 7 } });
    expect(world.server.peer.of('SEND')[0]?.headers.slice(1, 5)).toEqual([
      ['type', 'complete'],
      ['error', '0'],
      ['took', '7'],
      ['token', 't'],
    ]);
  });

  it('needs a token in the command', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.peer.event('1', 1);
    const [event] = await take(subscription, 1);
    if (event === undefined) throw new Error('no event');
    await expect(client.complete(event, 0)).rejects.toThrow('it has no token');
  });
});
