import { ManualClock } from '@muster/base';
import { FABRIC_LIMITS, header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
let clock: ManualClock;
beforeEach(async () => {
  clock = new ManualClock();
  given = await RootFixture.start({ clock });
});
afterEach(() => given.end());

const EVENT = 'SEND\ndestination:/topic/events\ntype:a\n\n\0';

describe('a session at the root', () => {
  test('CONNECTED names version, server, session, heart-beats and the largest event', async () => {
    const connected = await given.raw().connect();
    expect(connected.headers).toEqual([
      ['version', '1.2'],
      ['server', 'muster/test'],
      ['session', '1'],
      ['heart-beat', '30000,30000'],
      ['max-event', '4096'],
    ]);
  });

  test('CONNECTED tells who asks what it may follow, up to 32 KiB', async () => {
    const overhead = JSON.stringify({ granted: [], restricted: ['x.*'], open: ['*'] }).length + '""'.length;
    const follow = (length: number) => ({ granted: ['g'.repeat(length)], restricted: ['x.*'], open: ['*'] });
    const told = async (length: number) => {
      given.authority.set('default/narrow', { subscribe: follow(length) });
      return header(await given.raw().connect('default/narrow', { headers: [['rights', 'follow']] }), 'follow');
    };
    expect(JSON.parse((await told(1)) ?? '')).toEqual(follow(1));
    expect(await told(32 * 1024 - overhead)).toHaveLength(32 * 1024);
    expect(await told(32 * 1024 - overhead + 1)).toBeUndefined();
  });

  test('frames that are sent without waiting for CONNECTED are taken in order', async () => {
    const client = given.raw();
    client.write(
      `STOMP\naccept-version:1.2\nlogin:default/a\npasscode:secret\n\n\0SUBSCRIBE\nid:1\ndestination:/topic/events\n\n\0${EVENT}`,
    );
    await client.until(() => client.frames.length === 2);
    expect(client.frames.map(({ command }) => command)).toEqual(['CONNECTED', 'MESSAGE']);
  });

  test('nothing that was sent early is done when the login is refused', async () => {
    const client = given.raw();
    client.write(`CONNECT\naccept-version:1.2\nlogin:default/a\npasscode:wrong\n\n\0${EVENT}`);
    await client.error();
    expect(given.log.last()).toBe(0);
  });

  test('more than fits is not kept before the login', async () => {
    const client = given.raw();
    client.write(`CONNECT\naccept-version:1.2\nlogin:default/a\npasscode:secret\n\n\0${EVENT.repeat(300)}`);
    expect(header(await client.error(), 'code')).toBe('stomp_too_large');
    expect(given.log.last()).toBe(0);
  });

  test('whoever does not log in is sent away', async () => {
    const client = given.raw();
    await given.until(() => given.root.metrics.accepted > 0);
    clock.advance(FABRIC_LIMITS.loginMs);
    expect(header(await client.error(), 'code')).toBe('stomp_opening_timeout');
  });

  test('a login that cannot be checked in time is refused', async () => {
    given.authority.held = new Promise(() => {});
    const client = given.raw();
    client.write('CONNECT\naccept-version:1.2\nlogin:default/a\npasscode:secret\n\n\0');
    await given.until(() => given.authority.logins > 0);
    clock.advance(FABRIC_LIMITS.loginMs);
    expect(header(await client.error(), 'code')).toBe('stomp_opening_timeout');
  });

  test('1.1 and 1.0 clients hear of events in their own way', async () => {
    const [newest, older, oldest] = await Promise.all([
      given.client('default/a', { version: '1.2' }),
      given.client('default/b', { version: '1.1' }),
      given.client('default/c', { version: '1.0' }),
    ]);
    await newest.subscribe('s');
    await older.subscribe('s');
    await oldest.ask('SUBSCRIBE', [['destination', '/topic/events']]);
    newest.publish('a', [['path', 'C:\\x\ny']]);
    for (const client of [newest, older]) {
      const [message] = await client.messages(1);
      expect(message && header(message, 'path')).toBe('C:\\x\ny');
    }
    const [message] = await oldest.messages(1);
    expect(message && header(message, 'path')).toBe('C:\\x\\ny');
    expect(message && header(message, 'subscription')).toBe('/topic/events');
  });

  test('what a 1.0 client publishes is escaped for others', async () => {
    const [newest, oldest] = await Promise.all([given.client(), given.client('default/c', { version: '1.0' })]);
    await newest.subscribe('s');
    oldest.write('SEND\ndestination: /topic/events \ntype: a \nurl:http://x\\y\n\nbody\0');
    const [message] = await newest.messages(1);
    expect(message && header(message, 'type')).toBe('a');
    expect(message && header(message, 'url')).toBe('http://x\\y');
  });

  test('lines may end with CR LF, and are forwarded with LF', async () => {
    const client = await given.client();
    await client.subscribe('s');
    client.write('SEND\r\ndestination:/topic/events\r\ntype:a\r\nx:y\r\n\r\nbody\0');
    await client.messages(1);
    expect(client.text).toContain('\ntype:a\nx:y\ncontent-length:4\n\nbody\0');
  });

  test('a repeated header counts once, and is forwarded as often as it came', async () => {
    const client = await given.client();
    await client.subscribe('s', "x = '1'");
    client.publish('a', [
      ['x', '1'],
      ['x', '2'],
      ['type', 'b'],
    ]);
    const [message] = await client.messages(1);
    expect(message?.headers.filter(([name]) => name === 'x' || name === 'type')).toEqual([
      ['type', 'a'],
      ['x', '1'],
      ['x', '2'],
      ['type', 'b'],
    ]);
  });

  test('DISCONNECT is answered after everything before it is stored, and ends the connection', async () => {
    const client = await given.client();
    given.log.hold();
    client.write(`${EVENT}DISCONNECT\nreceipt:bye\n\n\0`);
    await given.until(() => given.log.appends.length > 0);
    expect(client.frames).toEqual([]);
    given.log.letGo();
    await client.end();
    expect(client.frames.map(({ headers }) => headers)).toEqual([[['receipt-id', 'bye']]]);
    expect(given.log.last()).toBe(1);
  });

  test('every frame is answered with its receipt', async () => {
    const client = await given.client();
    const id: [string, string] = ['id', '1'];
    await client.ask('SUBSCRIBE', [id, ['destination', '/topic/events'], ['ack', 'client']]);
    await client.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'a'],
    ]);
    const [message] = await client.messages(1);
    const ack = (message && header(message, 'ack')) ?? '';
    await client.ask('ACK', [['id', ack]]);
    await client.ask('NACK', [['id', ack]]);
    await client.ask('BEGIN', [['transaction', 't']]);
    await client.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'b'],
      ['transaction', 't'],
    ]);
    await client.ask('ACK', [
      ['id', ack],
      ['transaction', 't'],
    ]);
    await client.ask('COMMIT', [['transaction', 't']]);
    await client.ask('BEGIN', [['transaction', 't']]);
    await client.ask('ABORT', [['transaction', 't']]);
    await client.ask('UNSUBSCRIBE', [id]);
    await client.ask('DISCONNECT', []);
    await client.end();
  });

  test('an ACK of a subscription that has ended does no harm', async () => {
    const client = await given.client();
    await client.subscribe('1', '', [['ack', 'client-individual']]);
    client.publish('a');
    const [message] = await client.messages(1);
    await client.ask('UNSUBSCRIBE', [['id', '1']]);
    await client.ask('ACK', [['id', (message && header(message, 'ack')) ?? '']]);
  });

  test('1.1 acknowledges by message-id and subscription, 1.0 by message-id alone', async () => {
    for (const version of ['1.1', '1.0'] as const) {
      const client = await given.client('default/a', { version });
      await client.subscribe('1', '', [['ack', 'client']]);
      client.publish('a');
      const [message] = await client.messages(1);
      const id: [string, string] = ['message-id', (message && header(message, 'message-id')) ?? ''];
      await client.ask('ACK', version === '1.1' ? [id, ['subscription', '1']] : [id]);
    }
  });

  test('line ends between frames are heart-beats', async () => {
    const client = await given.client();
    await client.subscribe('1');
    client.write(`\n\n\r\n${EVENT}\n`);
    expect(typesOf(await client.messages(1))).toEqual(['a']);
  });

  test('a client that promised heart-beats and sends none is dead after two intervals', async () => {
    const client = await given.client('default/a', { headers: [['heart-beat', '1000,0']] });
    clock.advance(59_999);
    await client.barrier();
    clock.advance(59_999);
    expect(given.root.clients()).toHaveLength(1);
    clock.advance(1);
    await client.end();
    expect(given.root.clients()).toEqual([]);
    expect(given.root.metrics.silent).toBe(1);
  });

  test('a client that promised nothing may be silent for ever', async () => {
    const client = await given.client();
    clock.advance(86_400_000);
    await client.barrier();
  });

  test('the root sends what it promised', async () => {
    const client = await given.client('default/a', { headers: [['heart-beat', '0,30000']] });
    for (let round = 1; round <= 3; round++) {
      clock.advance(15_000);
      await client.until(() => client.beats >= round);
    }
  });

  test('a session ends with its token', async () => {
    given.authority.set('default/short', { expiresMs: clock.now() + 60_000 });
    const client = await given.client('default/short');
    clock.advance(59_000);
    await client.barrier();
    clock.advance(1000);
    expect(header(await client.error(), 'code')).toBe('event_login_expired');
  });

  test('a session ends when its rights change or end, and no other does', async () => {
    const [alice, bob] = await Promise.all([given.client('default/alice'), given.client('default/bob')]);
    given.authority.revoke({ org: 'default', principal: 'default/alice' });
    expect(header(await alice.error(), 'code')).toBe('event_revoked');
    await bob.barrier();
    given.authority.revoke({ org: 'default', principal: null });
    await bob.error();
  });

  test('a session stays when its login came after the change that ends others of the same name', async () => {
    const before = await given.client('default/alice');
    given.authority.stamp = 1;
    const after = await given.client('default/alice');
    given.authority.revoke({ org: 'default', principal: 'default/alice', before: 1 });
    expect(header(await before.error(), 'code')).toBe('event_revoked');
    await after.barrier();
  });

  test('at the end everybody is told so', async () => {
    const [client, waiting] = [await given.client(), given.raw()];
    await given.until(() => given.root.metrics.accepted === 2);
    await given.root.stop();
    expect(header(await client.error(), 'code')).toBe('event_stopping');
    expect(header(await waiting.error(), 'code')).toBe('event_stopping');
  });
});
