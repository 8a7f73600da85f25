import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Headers, header } from '../src/stomp/frame.js';
import { IMPATIENT, realRoot, relayBelow, scriptedParent, small, stopAll, tree } from './relay-support/start.js';
import { typesOf } from './support/raw-client.js';

afterEach(stopAll);

const send = (type: string): Headers => [
  ['destination', '/topic/events'],
  ['type', type],
];

describe('who comes in at a relay', () => {
  test('upstream is asked, and its answer holds', async () => {
    const { parent, relay } = await small();
    await relay.client('default/client');
    await expect(relay.client('default/stranger')).rejects.toThrow('login_refused');
    const asked = parent.of('SEND').map((frame) => JSON.parse(Buffer.from(frame.body).toString()));
    expect(asked.map(({ login }) => login)).toEqual(['default/client', 'default/stranger']);
    expect(relay.status().totals.logins_refused).toBe(1);
  });

  test('a relay far down asks through all those above it', async () => {
    const { root, leaf } = await tree(3);
    const before = root.authority.logins;
    await leaf.client('default/client');
    expect(root.authority.logins).toBe(before + 1);
  });

  test('logins of another organization are refused: its events do not come here', async () => {
    const { parent, relay } = await small();
    parent.allow('other/client');
    await expect(relay.client('other/client')).rejects.toThrow('login_refused');
  });

  test('when upstream does not answer about a login, it is refused in time, and the others go on', async () => {
    const { parent, relay } = await small(IMPATIENT);
    const other = await relay.client();
    parent.habits.answersLogins = false;
    await expect(relay.client()).rejects.toThrow('no answer about a login');
    await other.subscribe('1');
    parent.publish('a');
    expect(typesOf(await other.messages(1))).toEqual(['a']);
  });

  test('a login that waits when upstream is lost is refused at once', async () => {
    const { parent, relay } = await small();
    parent.habits.answersLogins = false;
    const coming = relay.client();
    await parent.until(() => parent.of('SEND').length === 1);
    await parent.die();
    await expect(coming).rejects.toThrow('upstream_failed');
  });

  test('a relay that may not act as one is not taken, and says so', async () => {
    const root = await realRoot();
    root.authority.set('default/relay', { relay: false });
    const { relay } = relayBelow(root.port);
    const failure = await relay.failed;
    expect(failure.code).toBe('upstream_refused');
    expect(failure.message).toContain("'default/relay' may not act as a relay");
  });

  test('a relay whose passcode is wrong is not taken, and says so', async () => {
    const root = await realRoot();
    const { relay } = relayBelow(root.port, { passcode: () => 'wrong' });
    expect((await relay.failed).message).toContain('login refused');
  });

  test('a passcode that was good once may be refused later: the relay goes on trying', async () => {
    const root = await realRoot();
    let passcode = 'secret';
    const relay = relayBelow(root.port, { passcode: () => passcode });
    await relay.port();
    passcode = 'wrong';
    root.authority.revoke({ org: 'default', principal: 'default/relay' });
    await relay.until(
      ({ upstream }) => upstream.state === 'degraded' && (upstream.last_error ?? '').includes('refused'),
    );
    passcode = 'secret';
    await relay.until(({ upstream }) => upstream.state === 'serving');
  });
});

test('a passcode that cannot be read is asked for again at the next attempt', async () => {
  const root = await realRoot();
  let unreadable = true;
  const relay = relayBelow(root.port, {
    passcode() {
      if (unreadable) throw new Error('cannot read the token');
      return 'secret';
    },
  });
  await relay.until(({ upstream }) => upstream.last_error === 'cannot read the token');
  unreadable = false;
  await relay.client();
});

test('events come down that are larger than those that this relay takes', async () => {
  const root = await realRoot({ eventBytes: 100_000 });
  const relay = relayBelow(root.port, { eventBytes: 4096 });
  const client = await relay.client();
  await client.subscribe('1');
  const body = 'x'.repeat(90_000);
  (await root.client()).publish('large', [], body);
  const [message] = await client.messages(1);
  expect(Buffer.from(message?.body ?? []).toString()).toBe(body);
});

test('a relay takes events as large as its root does, unless it is told otherwise, and says who has decided', async () => {
  const root = await realRoot({ eventBytes: 100_000 });
  const upper = relayBelow(root.port);
  const lower = relayBelow(await upper.port());
  const own = relayBelow(root.port, { own: true, login: 'default/client' });
  const less = relayBelow(root.port, { eventBytes: 50_000 });
  for (const relay of [upper, lower, own]) {
    const client = await relay.client();
    await client.ask('SEND', send('a'), 'x'.repeat(90_000));
    client.publish('a', [], 'x'.repeat(100_001));
    const said =
      'the body of a SEND frame is beyond the limit of 100000 bytes (events.max_size of the server above this relay)';
    expect(header(await client.error(), 'message')).toContain(said);
  }
  const client = await less.client();
  client.publish('a', [], 'x'.repeat(50_001));
  expect(header(await client.error(), 'message')).toContain('50000 bytes (--max-event of this relay)');
});

describe('what a client may do at a relay', () => {
  test('it may publish what upstream allows it', async () => {
    const { parent, relay } = await small();
    parent.allow('default/limited', { publish: { granted: ['temp.*'], restricted: [], open: [] } });
    const client = await relay.client('default/limited');
    await client.ask('SEND', send('temp.high'));
    client.send('SEND', send('push.job'));
    expect(header(await client.error(), 'code')).toBe('event_publish_denied');
    expect(typesOf(parent.published)).toEqual(['temp.high']);
  });

  test('it follows what upstream allows it, whatever it selects', async () => {
    const { parent, relay } = await small();
    parent.allow('default/limited', { subscribe: { granted: ['temp.*'], restricted: ['*'], open: ['*'] } });
    const client = await relay.client('default/limited');
    await client.subscribe('1');
    parent.publish('push.job');
    parent.publish('temp.high');
    expect(typesOf(await client.messages(1))).toEqual(['temp.high']);
    expect(client.frames).toEqual([]);
  });

  test.each([
    ['a reserved name', [...send('a'), ['source', 'default/root']], 'event_reserved'],
    ['a kind of its own choice', [...send('a'), ['source-kind', 'user']], 'event_reserved'],
    ['no type', [['destination', '/topic/events']], 'stomp_missing_header'],
    [
      'another destination',
      [
        ['destination', '/queue/x'],
        ['type', 'a'],
      ],
      'stomp_destination',
    ],
    [
      'a type that is none',
      [
        ['destination', '/topic/events'],
        ['type', 'a b'],
      ],
      'event_type',
    ],
    ['on-behalf, of no relay', [...send('a'), ['on-behalf', 'default/root']], 'stomp_relays_only'],
    ['on-behalf-kind, of no relay', [...send('a'), ['on-behalf-kind', 'user']], 'stomp_relays_only'],
  ] as const)(
    'an event with %s ends here, with an ERROR, and upstream hears nothing of it',
    async (_, headers, code) => {
      const { parent, relay } = await small();
      const [client, other] = [await relay.client(), await relay.client()];
      client.send('SEND', headers);
      expect(header(await client.error(), 'code')).toBe(code);
      await other.ask('SEND', send('after'));
      expect(typesOf(parent.published)).toEqual(['after']);
    },
  );

  test('an event that is too large for the root ends at the lowest relay', async () => {
    const root = await realRoot({ eventBytes: 1000 });
    const upper = relayBelow(root.port);
    const lower = relayBelow(await upper.port());
    const [client, other] = [await lower.client(), await lower.client()];
    client.publish('a', [], 'x'.repeat(1000));
    expect(header(await client.error(), 'message')).toContain('1000');
    await other.ask('SEND', send('after'));
  });

  test('an event that the root does not store ends only the session of its publisher', async () => {
    const { root, leaf } = await tree(2);
    const [client, other] = [await leaf.client(), await leaf.client()];
    await other.subscribe('1');
    root.log.fail(true);
    client.send('SEND', [...send('a'), ['receipt', 'r']]);
    const error = await client.error();
    expect([header(error, 'code'), header(error, 'receipt-id')]).toEqual(['store_unavailable', 'r']);
    root.log.fail(false);
    await other.ask('SEND', send('after'));
    expect(typesOf(await other.messages(1))).toEqual(['after']);
  });

  test('events of a transaction go up at COMMIT, or never', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    for (const transaction of ['kept', 'left']) {
      await client.ask('BEGIN', [['transaction', transaction]]);
      await client.ask('SEND', [...send(transaction), ['transaction', transaction]]);
    }
    await client.ask('ABORT', [['transaction', 'left']]);
    expect(parent.published).toEqual([]);
    await client.ask('COMMIT', [['transaction', 'kept']]);
    expect(typesOf(parent.published)).toEqual(['kept']);
  });

  test('a future event goes up with its time and the kind of who sent it, and its id comes down in the receipt', async () => {
    const { root, leaf } = await tree(2);
    root.authority.set('default/person', { kind: 'user' });
    const client = await leaf.client('default/person');
    const receipt = await client.ask('SEND', [...send('later'), ['at', '4102444800000']]);
    const [scheduled] = root.schedule.events;
    expect(header(receipt, 'scheduled')).toBe(scheduled?.id);
    expect(scheduled).toMatchObject({ atMs: 4_102_444_800_000, event: { origin: { kind: 'user' } } });
  });

  test('who is withdrawn at the root is cut at every relay', async () => {
    const { root, leaf } = await tree(2);
    const [gone, staying] = [await leaf.client('default/gone'), await leaf.client('default/staying')];
    root.authority.revoke({ org: 'default', principal: 'default/gone' });
    expect(header(await gone.error(), 'code')).toBe('event_revoked');
    await staying.subscribe('1');
  });

  test('a login that expires ends', async () => {
    const { root, leaf } = await tree(1);
    root.authority.set('default/brief', { expiresMs: Date.now() + 300 });
    const client = await leaf.client('default/brief');
    expect(header(await client.error(), 'code')).toBe('event_login_expired');
  });
});

describe('clients that do not read', () => {
  test('F5, O-7: one that does not read is cut and counted; the others go on', async () => {
    const { parent, relay } = await small({ outboundBytes: 256 * 1024 });
    const [slow, fast] = [await relay.client(), await relay.client()];
    await slow.subscribe('1');
    await fast.subscribe('1');
    slow.socket.pause();
    const body = 'x'.repeat(4000);
    let sent = 0;
    while (relay.status().totals.slow_disconnects === 0) {
      parent.publish('a', [], body);
      sent += 1;
      if (sent % 50 === 0) await fast.messages(50);
    }
    await relay.until(({ clients }) => clients === 1);
    parent.publish('last');
    await fast.until(() => fast.frames.some((message) => header(message, 'type') === 'last'));
  });
});

test.each(['drop-newest', 'drop-oldest'])(
  'R-10: one that wants %s and reads nothing during an outage is told that nobody knows how many are missing',
  async (slow) => {
    const { parent, relay } = await small({ outboundBytes: 64 * 1024 });
    const client = await relay.client();
    await client.subscribe('1', '', [['slow', slow]]);
    client.socket.pause();
    const flood = async () => {
      const until = relay.status().totals.events_dropped + 100;
      while (relay.status().totals.events_dropped < until) {
        parent.publish('a', [], 'x'.repeat(4000));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await flood();
    await parent.die();
    await relay.until(({ upstream }) => upstream.state === 'degraded');
    await parent.listen();
    await relay.until(({ upstream }) => upstream.state === 'serving');
    // So that even the newest that are kept are from after the outage.
    await flood();
    client.socket.resume();
    await client.until(() => client.frames.some((message) => header(message, 'type') === 'fabric.dropped'));
    const [marker] = client.frames.filter((message) => header(message, 'type') === 'fabric.dropped');
    expect(marker?.headers.slice(-1)).toEqual([['reason', 'a relay had lost its upstream']]);
    expect(marker?.headers.map(([name]) => name)).not.toContain('dropped');
  },
);

describe('anonymous', () => {
  test('whoever connects may publish and follow everything, and nobody is named to upstream', async () => {
    const { parent, relay } = await small({ anonymous: true, login: 'guest' });
    const client = await relay.client('anybody');
    await client.subscribe('1');
    await client.ask('SEND', send('push.job'));
    expect(parent.of('SEND').map((frame) => header(frame, 'on-behalf'))).toEqual([undefined]);
    expect(typesOf(await client.messages(1))).toEqual(['push.job']);
  });

  test('what upstream does not know is refused here', async () => {
    const { parent, relay } = await small({ anonymous: true });
    const [past, future] = [await relay.client(), await relay.client()];
    past.send('SUBSCRIBE', [
      ['id', '1'],
      ['destination', '/topic/events'],
      ['from', 'first'],
    ]);
    expect(header(await past.error(), 'message')).toContain('is not known to the broker above');
    future.send('SEND', [...send('a'), ['at', '4102444800000']]);
    expect(header(await future.error(), 'message')).toContain('is not known to the broker above');
    expect(parent.published).toEqual([]);
  });
});

test('what is no STOMP disturbs nobody', async () => {
  const parent = await scriptedParent();
  const relay = relayBelow(parent.url);
  const client = await relay.client();
  await client.subscribe('1');
  const garbage = connect({ port: await relay.port(), host: '127.0.0.1' });
  garbage.write('GET / HTTP/1.1\r\n\r\n');
  const answer: Buffer[] = [];
  garbage.on('data', (bytes: Buffer) => answer.push(bytes));
  await new Promise((resolve) => garbage.on('close', resolve));
  expect(Buffer.concat(answer).toString()).toMatch(/^ERROR\ncode:stomp_not_stomp\n/);
  parent.publish('a');
  expect(typesOf(await client.messages(1))).toEqual(['a']);
});
