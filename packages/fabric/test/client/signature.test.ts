import { createHmac } from 'node:crypto';
import type { Headers } from '@muster/fabric';
import { type EventMessage, signEvent, verifyEvent } from '@muster/fabric/client';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { take, World } from './support.js';

const bytes = (text: string) => Buffer.from(text);
const ATTRIBUTES: Headers = [
  ['type', 'temp.high'],
  ['host', 'db:1'],
  ['note', 'two\nlines\\'],
  ['place', 'Zürich'],
];
const BODY = bytes('81 °C\0');
const KEY = 'a key that both know';

describe('a signature', () => {
  it('is what anybody computes with HMAC-SHA-256', async () => {
    const mac = (covered: string) => `hmac-sha256:${createHmac('sha256', KEY).update(covered).digest('hex')}`;
    expect(await signEvent([], bytes(''), KEY)).toBe(mac('\n'));
    expect(await signEvent(ATTRIBUTES, BODY, KEY)).toBe(
      mac('type:temp.high\nhost:db\\c1\nnote:two\\nlines\\\\\nplace:Zürich\n\n81 °C\0'),
    );
  });

  it('has vectors that other implementations can be tried with', async () => {
    expect(await signEvent([['type', 'a']], bytes(''), 'key')).toBe(
      'hmac-sha256:7aafb0d9b4007be26a8673b23b4420d120564e8ffe19dfd8f0f9be10d582e1ea',
    );
    expect(await signEvent(ATTRIBUTES, BODY, KEY)).toBe(
      'hmac-sha256:434622505582001fed27beddda41752e6db93df62334f9f6acad9e8783d3f398',
    );
  });

  it('is valid for what was signed, and does not cover itself', async () => {
    const signature = await signEvent(ATTRIBUTES, BODY, KEY);
    const signed: Headers = [...ATTRIBUTES, ['signature', signature]];
    expect(await verifyEvent(signed, BODY, KEY)).toBe(true);
    expect(await signEvent(signed, BODY, bytes(KEY))).toBe(signature);
  });

  it('is invalid after any change, reordering, insertion or removal', async () => {
    const headers = fc.array(fc.tuple(fc.string({ maxLength: 4 }), fc.string({ maxLength: 6 })), { maxLength: 6 });
    const own = headers.map((all) => all.filter(([name]) => name !== 'signature'));
    await fc.assert(
      fc.asyncProperty(
        own,
        own,
        fc.uint8Array({ maxLength: 8 }),
        fc.uint8Array({ maxLength: 8 }),
        async (a, b, x, y) => {
          const signature: Headers = [['signature', await signEvent(a, x, KEY)]];
          const same = JSON.stringify(a) === JSON.stringify(b) && Buffer.from(x).equals(y);
          expect(await verifyEvent([...b, ...signature], y, KEY)).toBe(same);
        },
      ),
    );
    const signature = await signEvent(ATTRIBUTES, BODY, KEY);
    const sealed = (attributes: Headers): Headers => [...attributes, ['signature', signature]];
    const [type, host, note, place] = ATTRIBUTES as [Headers[0], Headers[0], Headers[0], Headers[0]];
    const changed: Headers[] = [
      [type, ['host', 'db:2'], note, place],
      [type, ['hosT', 'db:1'], note, place],
      [type, note, host, place],
      [type, host, ['more', ''], note, place],
      [type, host, note],
      [type, host, note, place, place],
      [type, ['host', 'db'], ['1', ''], note, place],
    ];
    for (const attributes of changed) expect(await verifyEvent(sealed(attributes), BODY, KEY)).toBe(false);
    expect(await verifyEvent(sealed(ATTRIBUTES), bytes('82 °C'), KEY)).toBe(false);
    expect(await verifyEvent(sealed(ATTRIBUTES), BODY, 'another key')).toBe(false);
  });

  it('must be there, once, and in its form', async () => {
    const signature = await signEvent(ATTRIBUTES, BODY, KEY);
    expect(await verifyEvent(ATTRIBUTES, BODY, KEY)).toBe(false);
    for (const bad of ['', signature.slice(12), signature.toUpperCase(), signature.slice(0, -1), `${signature}0`]) {
      expect(await verifyEvent([...ATTRIBUTES, ['signature', bad]], BODY, KEY)).toBe(false);
    }
    const twice: Headers = [...ATTRIBUTES, ['signature', signature], ['signature', signature]];
    expect(await verifyEvent(twice, BODY, KEY)).toBe(false);
  });
});

describe('a subscription that verifies', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start();
    world.server.habits.echoes = true;
  });
  afterEach(() => world.end());

  it('delivers what is signed with the key, in order, and tells of the rest', async () => {
    const client = await world.connected();
    const refused: EventMessage[] = [];
    const subscription = client.subscribe({ verify: KEY, onRefused: (event) => refused.push(event) });
    await subscription.ready;
    await client.publish({ type: 'unsigned' });
    for (const type of ['one', 'two', 'three']) {
      await client.publish({ type, sign: KEY, attributes: [['note', 'a:b\nc']], body: 'x' });
      await client.publish({ type: 'forged', sign: 'another key' });
    }
    const got = await take(subscription, 3);
    expect(got.map(({ type }) => type)).toEqual(['one', 'two', 'three']);
    await client.publish({ type: 'last', sign: KEY });
    await take(subscription, 1);
    expect(refused.map(({ type }) => type)).toEqual(['unsigned', 'forged', 'forged', 'forged']);
    expect(subscription.refused).toBe(4);
  });

  it('sends the signature last', async () => {
    const client = await world.connected();
    await client.publish({ type: 'a', token: 't', sign: KEY, at: 1 });
    const [sent] = world.server.peer.of('SEND');
    const names = sent?.headers.map(([name]) => name) ?? [];
    expect(names.indexOf('signature')).toBeGreaterThan(names.indexOf('token'));
  });

  it('still hears where events are missing', async () => {
    const client = await world.connected();
    const subscription = client.subscribe({ verify: KEY });
    await subscription.ready;
    world.server.peer.send('MESSAGE', [
      ['subscription', '1'],
      ['type', 'fabric.dropped'],
      ['dropped', '2'],
    ]);
    world.server.peer.event('1', 1, [['type', 'fabric.dropped']]);
    const [marker] = await take(subscription, 1);
    expect(marker?.isMarker).toBe(true);
    await client.publish({ type: 'a', sign: KEY });
    await take(subscription, 1);
    expect(subscription.refused).toBe(1);
  });
});
