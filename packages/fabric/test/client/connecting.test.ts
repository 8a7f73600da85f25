import { FABRIC_LIMITS } from '@muster/fabric';
import { type ClientOptions, connect } from '@muster/fabric/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until, World } from './support.js';

let world: World;

beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.end());

describe('connecting', () => {
  it('logs in with STOMP 1.2', async () => {
    await world.connected({ heartBeatMs: 20_000 });
    expect(Object.fromEntries(world.server.peer.frames[0]?.headers ?? [])).toEqual({
      'accept-version': '1.2',
      host: '127.0.0.1',
      login: 'acme/ada',
      passcode: 'secret',
      'heart-beat': '20000,20000',
      refusals: 'message',
    });
    expect(world.states).toEqual(['connecting', 'connected']);
  });

  it('asks for a passcode for each attempt', async () => {
    let made = 0;
    await world.connected({ passcode: async () => `one-time-${++made}` });
    world.server.peer.channel.destroy();
    await world.whenTold('lost');
    world.clock.advance(5000);
    await world.whenTold('connected', 2);
    expect(world.server.peers.flatMap((peer) => peer.values('CONNECT', 'passcode'))).toEqual([
      'one-time-1',
      'one-time-2',
    ]);
  });

  it('L-4: fails at once when there are to be no retries', async () => {
    await world.server.die();
    const client = world.connect({ retries: 0 });
    await expect(client.ready()).rejects.toMatchObject({ code: 'fabric_unreachable' });
    expect(world.told).toMatchObject([
      { state: 'connecting' },
      { state: 'closed', error: { code: 'fabric_unreachable' } },
    ]);
    expect(() => client.subscribe()).toThrow('the client is closed');
  });

  it('L-4: is tried as often as it was asked for', async () => {
    await world.server.die();
    const client = world.connect({ retries: 2 });
    const end = expect(client.ready()).rejects.toMatchObject({ code: 'fabric_unreachable' });
    for (const [index, pauseMs] of [5000, 10_000].entries()) {
      await world.whenPaused(index + 1);
      world.clock.advance(pauseMs);
    }
    await end;
    expect(world.states).toEqual(['connecting', 'connecting', 'connecting', 'closed']);
    expect(world.told[1]).toMatchObject({ after: { code: 'fabric_unreachable' } });
  });

  it('is refused with what the server says, and not tried again', async () => {
    world.server.answer = (peer, { command }) => {
      if (command !== 'CONNECT') return false;
      peer.send('ERROR', [
        ['message', 'login refused'],
        ['code', 'login_refused'],
      ]);
      return true;
    };
    const client = world.connect();
    await expect(client.ready()).rejects.toMatchObject({ code: 'login_refused', exit: 3, message: 'login refused' });
    expect(client.status.state).toBe('closed');
  });

  it('is tried again when the server is too busy', async () => {
    let busy = true;
    world.server.answer = (peer, { command }) => {
      if (command !== 'CONNECT' || !busy) return false;
      busy = false;
      peer.send('ERROR', [
        ['message', 'too many logins at once (limit 1000)'],
        ['code', 'too_busy'],
      ]);
      return true;
    };
    const client = world.connect();
    await world.whenPaused(1);
    world.clock.advance(5000);
    await client.ready();
  });

  it('to a broker that is none of ours ends with what it says', async () => {
    world.server.answer = (peer) => {
      peer.send('ERROR', [['message', 'Bad CONNECT']], 'Access refused');
      return true;
    };
    await expect(world.connect().ready()).rejects.toMatchObject({
      code: 'fabric_refused',
      message: 'refused by the server: Bad CONNECT',
    });
  });

  it('to what speaks no STOMP 1.2 fails', async () => {
    world.server.answer = (peer) => {
      peer.send('CONNECTED', [['version', '1.1']]);
      return true;
    };
    await expect(world.connect({ retries: 0 }).ready()).rejects.toThrow('has version 1.1, not 1.2');
    world.server.answer = (peer) => {
      peer.channel.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'));
      return true;
    };
    await expect(world.connect({ retries: 0 }).ready()).rejects.toMatchObject({ code: 'stomp_not_stomp' });
  });

  it('fails when nobody answers the login in time', async () => {
    world.server.habits.welcomes = false;
    const client = world.connect({ retries: 0, timeoutMs: 7000 });
    await until(() => world.server.peers.some((peer) => peer.frames.length > 0));
    world.clock.advance(7000);
    await expect(client.ready()).rejects.toThrow('no login within 7 s');
  });

  it('tries one address after the other', async () => {
    const gone = world.server.url;
    await world.server.die();
    const second = await World.start();
    const client = world.connect({ url: [gone, second.server.url] });
    await world.whenPaused(1);
    world.clock.advance(5000);
    await client.ready();
    expect(world.told.at(-1)).toEqual({ state: 'connected', url: second.server.url });
    await client.close();
    await second.end();
  });

  it.each([
    ['nothing', undefined, 'invalid options: expected an object, got undefined'],
    ['no url', {}, 'invalid url: expected an address such as stomp://HOST:PORT, or a list of them, got undefined'],
    ['a url of another kind', { url: 'http://localhost' }, 'invalid address http://localhost: expected stomp://'],
    ['a number as url', { url: 61_613 }, 'invalid url: expected an address'],
    ['an empty list of urls', { url: [] }, 'invalid url: there is none'],
    ['no login for one of several urls', { url: ['unix:/run/a.sock', 'ws://a'], login: undefined }, 'invalid login'],
    ['no login', { login: undefined }, 'invalid login: expected ORG/NAME, got undefined'],
    ['an empty login', { login: '' }, 'invalid login: expected ORG/NAME, got an empty text'],
    [
      'no passcode',
      { passcode: undefined },
      'invalid passcode: expected a text, or a function that makes one, got undef',
    ],
    ['a passcode with a line end', { passcode: 'a\nreceipt:1' }, 'invalid passcode: expected a text'],
    ['a login with a NUL', { login: 'a\0' }, 'invalid login: expected a text without line ends and NULs'],
    ['a heart-beat below 0', { heartBeatMs: -1 }, 'invalid heartBeatMs: expected a whole number from 0 to 604800000'],
    ['half a retry', { retries: 0.5 }, 'invalid retries: expected a whole number from 0 on, or Infinity'],
    ['no time at all', { timeoutMs: 0 }, 'invalid timeoutMs: expected a number from 1 to 604800000 (milliseconds)'],
    ['more than timers take', { timeoutMs: 604_800_001 }, 'invalid timeoutMs'],
    ['a pause that is text', { reconnect: { minMs: '5s' } }, 'invalid reconnect.minMs: expected a number from 0 to'],
    ['a pause that is no number', { reconnect: { maxMs: Number.NaN } }, 'invalid reconnect.maxMs'],
    ['more jitter than all', { reconnect: { jitter: 2 } }, 'invalid reconnect.jitter: expected a number from 0 to 1'],
    ['reconnect: true', { reconnect: true }, 'invalid reconnect: expected false or an object, got a boolean'],
    ['TLS that is text', { tls: { verify: 'no' } }, 'invalid tls.verify: expected true or false'],
    ['a listener that is none', { onStatus: 'log' }, 'invalid onStatus: expected a function'],
    ['what there is not', { retryMs: 5000 }, 'invalid retryMs: there is no such field; there are url, login, passcode'],
  ])('with %s is refused at once', (_, wrong: object | undefined, message) => {
    const good = { url: world.server.url, login: 'acme/ada', passcode: 'secret' };
    const options = wrong === undefined || Object.keys(wrong).length === 0 ? wrong : { ...good, ...wrong };
    expect(() => connect(options as unknown as ClientOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_field', message: expect.stringContaining(message) }),
    );
  });

  it('takes the limits of its options', async () => {
    const MOST_MS = 604_800_000;
    await world.connected({
      heartBeatMs: MOST_MS,
      timeoutMs: MOST_MS,
      retries: Number.POSITIVE_INFINITY,
      reconnect: { minMs: 0, maxMs: MOST_MS, jitter: 1 },
    });
  });

  it('ends with why there is no passcode, when the function for it fails at the start', async () => {
    const passcode = () => Promise.reject(new Error('the vault is sealed'));
    const client = world.connect({ passcode });
    const subscription = client.subscribe();
    await expect(client.ready()).rejects.toMatchObject({
      code: 'fabric_passcode',
      message: `no passcode for ${world.server.url}: the vault is sealed`,
    });
    await expect(subscription.ready).rejects.toMatchObject({ code: 'fabric_passcode' });
    expect(world.states).toEqual(['connecting', 'closed']);
  });

  it('ends with what the function for passcodes has made, when it is none', async () => {
    const client = world.connect({ passcode: (() => undefined) as unknown as () => string });
    await expect(client.ready()).rejects.toThrow('invalid passcode: expected a text without line ends and NULs');
    await expect(world.connect({ passcode: () => 'a\nreceipt:1' }).ready()).rejects.toThrow('invalid passcode');
    expect(world.server.peers.flatMap((peer) => peer.of('CONNECT'))).toEqual([]);
  });

  it('asks for a passcode again when the function for it fails later on, and tells of it', async () => {
    let calls = 0;
    await world.connected({
      passcode: () => {
        calls += 1;
        if (calls === 2) throw new Error('the vault is sealed');
        return 'secret';
      },
    });
    world.server.peer.channel.destroy();
    for (const pause of [1, 2]) {
      await world.whenPaused(pause);
      world.clock.advance(10_000);
    }
    await world.whenTold('connected', 2);
    expect(world.told.at(-2)).toMatchObject({ state: 'connecting', after: { code: 'fabric_passcode' } });
  });

  it('is tried again with another passcode when one that was made for it has become too old on its way', async () => {
    let made = 0;
    await world.connected({ passcode: () => `one-time-${++made}` });
    world.server.answer = (peer, { command }) => {
      if (command !== 'CONNECT' || made !== 2) return false;
      peer.send('ERROR', [
        ['message', 'login refused'],
        ['code', 'login_refused'],
      ]);
      return true;
    };
    world.server.peer.channel.destroy();
    for (const pause of [1, 2]) {
      await world.whenPaused(pause);
      world.clock.advance(10_000);
    }
    await world.whenTold('connected', 2);
    expect(world.told.at(-2)).toMatchObject({ state: 'connecting', after: { code: 'login_refused' } });
    expect(made).toBe(3);
  });
});

describe('a connection that is lost', () => {
  it('L-1: is reported, made again after about 5 s, and reported as found', async () => {
    await world.connected({ random: () => 0 });
    world.server.peer.channel.destroy();
    await world.whenTold('lost');
    expect(world.told.at(-1)).toMatchObject({ error: { code: 'fabric_lost' }, retryMs: 2500 });
    world.clock.advance(2499);
    expect(world.states.at(-1)).toBe('lost');
    world.clock.advance(1);
    await world.whenTold('connected', 2);
    expect(world.states).toEqual(['connecting', 'connected', 'lost', 'connecting', 'connected']);
  });

  it('can be waited for: `ready` is for the present connection, or else for the next', async () => {
    const client = await world.connected();
    await client.ready();
    world.server.peer.channel.destroy();
    await world.whenTold('lost');
    await expect(client.publish({ type: 'a' })).rejects.toThrow('not connected: nothing was sent');
    let found = false;
    const again = client.ready().then(() => {
      found = true;
    });
    await new Promise(setImmediate);
    expect(found).toBe(false);
    world.clock.advance(5000);
    await again;
    await client.publish({ type: 'a' });
  });

  it('and not made again ends all waiting for it', async () => {
    const client = await world.connected();
    world.server.peer.channel.destroy();
    await world.whenTold('lost');
    const again = client.ready();
    await client.close();
    await expect(again).rejects.toMatchObject({ code: 'fabric_closed' });
    await expect(client.ready()).rejects.toMatchObject({ code: 'fabric_closed' });
  });

  it('is not made again all at once by many: the pauses differ', async () => {
    const pauses: (number | null)[] = [];
    for (const random of [0, 0.25, 0.75]) {
      const client = await world.connected({
        random: () => random,
        onStatus: (status) => {
          if (status.state === 'lost') pauses.push(status.retryMs);
        },
      });
      world.server.peer.channel.destroy();
      await until(() => client.status.state === 'lost');
    }
    expect(pauses).toEqual([2500, 3750, 6250]);
  });

  it('is made again with longer and longer pauses, up to a limit', async () => {
    await world.connected({ reconnect: { minMs: 1000, maxMs: 3000, jitter: 0 } });
    await world.server.die();
    await world.whenTold('lost');
    for (const [index, ms] of [1000, 2000, 3000, 3000].entries()) {
      await world.whenPaused(index + 1);
      world.clock.advance(ms - 1);
      expect(world.states.filter((state) => state === 'connecting')).toHaveLength(index + 1);
      world.clock.advance(1);
      expect(world.states.filter((state) => state === 'connecting')).toHaveLength(index + 2);
    }
  });

  it('L-2: is reported once and left to the program, when it wants that', async () => {
    const client = await world.connected({ reconnect: false });
    const subscription = client.subscribe();
    await subscription.ready;
    world.server.peer.channel.destroy();
    await world.whenTold('closed');
    expect(world.told.slice(2)).toMatchObject([{ state: 'lost', retryMs: null }, { state: 'closed' }]);
    await expect(subscription.next()).rejects.toMatchObject({ code: 'fabric_lost' });
    await expect(client.ready()).rejects.toMatchObject({ code: 'fabric_lost' });
    expect(world.clock.pending).toBe(0);
  });

  it('L-5: is noticed by silence of two intervals', async () => {
    world.server.habits.heartBeat = '10000,0';
    await world.connected({ heartBeatMs: 5000 });
    world.clock.advance(2 * 10_000 - 1);
    expect(world.states.at(-1)).toBe('connected');
    world.clock.advance(1);
    await world.whenTold('lost');
    expect(world.told.at(-1)).toMatchObject({ error: { message: expect.stringContaining('nothing was heard') } });
  });

  it('L-5: is kept alive by both sides while nothing is said', async () => {
    world.server.habits.heartBeat = '10000,4000';
    const client = await world.connected({ heartBeatMs: 5000 });
    for (let beat = 1; beat <= 10; beat++) {
      world.server.peer.channel.write(Buffer.from('\n'));
      await client.publish({ type: 'a' });
      world.clock.advance(19_000);
      await until(() => world.server.peer.heartBeats >= beat);
    }
    expect(client.status.state).toBe('connected');
  });

  it('is given up when the server takes bytes and answers nothing', async () => {
    const client = await world.connected();
    world.server.habits.receipts = false;
    const publishing = client.publish({ type: 'a' });
    const end = expect(publishing).rejects.toMatchObject({ code: 'fabric_unconfirmed' });
    await world.server.got('SEND', 1);
    world.clock.advance(FABRIC_LIMITS.answerMs);
    await end;
    await world.whenTold('lost');
  });

  it('is reported with the reason of an ERROR', async () => {
    await world.connected();
    world.server.peer.send('ERROR', [
      ['message', 'the relay lost its upstream: it closed the connection'],
      ['code', 'upstream_failed'],
    ]);
    await world.whenTold('lost');
    expect(world.told.at(-1)).toMatchObject({ error: { code: 'upstream_failed' } });
    world.clock.advance(5000);
    await world.whenTold('connected', 2);
  });
});

describe('closing', () => {
  it('says goodbye, waits for what is under way, and closes', async () => {
    const client = await world.connected();
    const publishing = client.publish({ type: 'a' });
    const closing = client.close();
    expect(await publishing).toEqual({});
    await closing;
    expect(world.server.peer.frames.map(({ command }) => command)).toEqual(['CONNECT', 'SEND', 'DISCONNECT']);
    expect(world.told.at(-1)).toEqual({ state: 'closed', error: null });
    await until(() => !world.server.peer.open && world.clock.pending === 0);
  });

  it('does not wait for ever', async () => {
    const client = await world.connected();
    world.server.answer = () => true;
    const closing = client.close();
    await world.server.got('DISCONNECT', 1);
    world.clock.advance(FABRIC_LIMITS.lingerMs);
    await closing;
    expect(client.status.state).toBe('closed');
  });

  it('twice is once, and everything after it is refused', async () => {
    const client = await world.connected();
    const subscription = client.subscribe();
    await Promise.all([client.close(), client.close()]);
    expect(world.states.filter((state) => state === 'closed')).toHaveLength(1);
    await expect(client.publish({ type: 'a' })).rejects.toMatchObject({ code: 'fabric_closed' });
    await expect(client.ready()).rejects.toMatchObject({ code: 'fabric_closed' });
    expect(() => client.subscribe()).toThrow('the client is closed');
    expect((await subscription.next()).done).toBe(true);
  });

  it('while connecting or waiting ends that', async () => {
    world.server.habits.welcomes = false;
    const connecting = world.connect();
    await connecting.close();
    await expect(connecting.ready()).rejects.toMatchObject({ code: 'fabric_closed' });
    await world.server.die();
    const waiting = world.connect();
    await world.whenPaused(1);
    await waiting.close();
    expect(world.clock.pending).toBe(0);
  });
});
