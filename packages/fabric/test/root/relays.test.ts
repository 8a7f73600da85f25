import { ManualClock, MusterError } from '@muster/base';
import { type Frame, type Headers, header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
let clock: ManualClock;
let relay: RawClient;
beforeEach(async () => {
  clock = new ManualClock();
  given = await RootFixture.start({ clock });
  given.authority.set('default/relay', { relay: true });
  given.authority.set('other/relay', { relay: true });
  relay = await given.client('default/relay');
});
afterEach(() => given.end());

const aliceAs = (kind: string): Headers => [...EVENT, ['on-behalf', 'default/alice'], ['on-behalf-kind', kind]];

const EVENT: Headers = [
  ['destination', '/topic/events'],
  ['type', 'a'],
];

function login(number: string, name: string, passcode = 'secret'): void {
  const headers: Headers = [
    ['destination', '/muster/login'],
    ['request', number],
    ['reply-to', '/temp-queue/login'],
  ];
  relay.send('SEND', headers, JSON.stringify({ login: name, passcode }));
}

const bodyOf = (message: Frame | undefined) => JSON.parse(Buffer.from(message?.body ?? []).toString());

describe('what relays may do', () => {
  test('a relay asks for the logins of its clients, many at once', async () => {
    login('1', 'default/alice');
    login('2', 'default/bob', 'wrong');
    login('3', 'default/carol');
    const answers = new Map((await relay.messages(3)).map((each) => [header(each, 'request'), bodyOf(each)]));
    expect(answers.get('1')).toMatchObject({ access: { org: 'default', principal: 'default/alice', relay: false } });
    expect(answers.get('2')).toMatchObject({ error: { code: 'login_refused', message: 'login refused' } });
    expect(answers.get('3')).toMatchObject({ access: { principal: 'default/carol' } });
  });

  test('it asks for nobody of another organization', async () => {
    const asked = given.authority.logins;
    login('1', 'other/alice');
    const [answer] = await relay.messages(1);
    expect(bodyOf(answer)).toMatchObject({ error: { code: 'login_refused' } });
    expect(given.authority.logins).toBe(asked);
  });

  test('it publishes for them, and they are the source', async () => {
    const client = await given.client();
    await client.subscribe('1');
    for (const kind of ['user', 'node', 'node', 'service', 'user']) await relay.ask('SEND', aliceAs(kind));
    await relay.ask('SEND', EVENT);
    const messages = await client.messages(6);
    expect(messages.map((message) => [header(message, 'source'), header(message, 'source-kind')])).toEqual([
      ['default/alice', 'user'],
      ['default/alice', 'node'],
      ['default/alice', 'node'],
      ['default/alice', 'service'],
      ['default/alice', 'user'],
      ['default/relay', 'node'],
    ]);
    const own = ['on-behalf', 'on-behalf-kind'];
    expect(messages.some((message) => own.some((name) => header(message, name) !== undefined))).toBe(false);
  });

  test('its future events for them are of the kind that it says', async () => {
    for (const kind of ['user', 'service']) await relay.ask('SEND', [...aliceAs(kind), ['at', '4102444800000']]);
    expect(given.schedule.events).toMatchObject([
      { event: { origin: { source: 'default/alice', kind: 'user' } } },
      { event: { origin: { source: 'default/alice', kind: 'service' } } },
    ]);
  });

  test.each([undefined, 'server', 'client', ''])('it says which kind they are of, not %j', async (kind) => {
    relay.send('SEND', kind === undefined ? [...EVENT, ['on-behalf', 'default/alice']] : aliceAs(kind));
    const [refusal] = await relay.messages(1);
    expect(refusal && header(refusal, 'message')).toContain("'on-behalf-kind'");
  });

  test('it follows durable subscriptions for them, which are theirs', async () => {
    const headers: Headers = [
      ['durable', 'd'],
      ['ack', 'client'],
    ];
    await relay.subscribe('up-1', '', [...headers, ['on-behalf', 'default/alice'], ['on-behalf-kind', 'node']]);
    await relay.ask('SEND', EVENT);
    const [message] = await relay.messages(1);
    await relay.ask('ACK', [['id', (message && header(message, 'ack')) ?? '']]);
    expect(await given.cursors.list('default')).toMatchObject([{ principal: 'default/alice', through: 1 }]);
    const alice = await given.client('default/alice');
    await alice.subscribe('1', '', headers);
    const [refusal] = await relay.messages(1);
    expect(refusal && header(refusal, 'code')).toBe('event_durable_taken');
    await relay.barrier();
  });

  test.each([
    ['with from', [['from', 'first']]],
    [
      'that is durable',
      [
        ['durable', 'd'],
        ['ack', 'client-individual'],
        ['on-behalf-kind', 'node'],
        ['from', 'first'],
      ],
    ],
  ] as const)(
    'it holds a subscription %s, and releases it: what it had no room for comes again',
    async (_what, headers) => {
      const publish = () => relay.ask('SEND', EVENT);
      const positions = async (count: number) =>
        (await relay.messages(count)).map((message) => header(message, 'message-id'));
      for (let n = 1; n <= 3; n++) await publish();
      await relay.subscribe('up-1', '', [['on-behalf', 'default/alice'], ...headers]);
      expect(await positions(3)).toEqual(['1', '2', '3']);
      await relay.ask('SEND', [
        ['destination', '/muster/hold'],
        ['subscription', 'up-1'],
        ['after', '1'],
      ]);
      await publish();
      await relay.barrier();
      expect(relay.frames).toEqual([]);
      relay.send('SEND', [
        ['destination', '/muster/release'],
        ['subscription', 'up-1'],
      ]);
      expect(await positions(3)).toEqual(['2', '3', '4']);
    },
  );

  test('it may hold a subscription that has ended meanwhile', async () => {
    await relay.ask('SEND', [
      ['destination', '/muster/hold'],
      ['subscription', 'up-1'],
      ['after', '0'],
    ]);
  });

  test.each([[], [['on-behalf-kind', 'client']]])(
    'it says whose durable subscription it is, not %j',
    async (...kind) => {
      relay.send('SUBSCRIBE', [
        ['id', 'up-1'],
        ['destination', '/topic/events'],
        ['durable', 'd'],
        ['ack', 'client'],
        ['on-behalf', 'default/alice'],
        ...(kind as Headers),
      ]);
      const [refusal] = await relay.messages(1);
      expect(refusal && header(refusal, 'message')).toContain("'on-behalf-kind'");
    },
  );

  test('it is told when a login that it may have asked for holds no longer', async () => {
    const [others] = await Promise.all([given.client('other/relay')]);
    given.authority.revoke({ org: 'default', principal: 'default/alice' });
    const [message] = await relay.messages(1);
    expect(message && header(message, 'subscription')).toBe('/temp-queue/login');
    expect(bodyOf(message)).toEqual({ revoked: { org: 'default', principal: 'default/alice' } });
    await others.barrier();
    expect(others.frames).toEqual([]);
  });

  test('it asks again about clients that are there, with what their logins stand on', async () => {
    const ask = (request: string, name: string, grounds: string) =>
      relay.send(
        'SEND',
        [
          ['destination', '/muster/login'],
          ['request', request],
        ],
        JSON.stringify({ login: name, grounds }),
      );
    ask('1', 'default/alice', 'grounds of default/alice');
    ask('2', 'default/bob', 'grounds of default/alice');
    ask('3', 'other/alice', 'grounds of other/alice');
    const answers = new Map((await relay.messages(3)).map((each) => [header(each, 'request'), bodyOf(each)]));
    expect(answers.get('1')).toMatchObject({ access: { principal: 'default/alice' }, grounds: expect.any(String) });
    expect(answers.get('2')).toMatchObject({ error: { code: 'login_refused' } });
    expect(answers.get('3')).toMatchObject({ error: { code: 'login_refused' } });
  });

  test('an authority that fails is an internal error, and logged', async () => {
    given.authority.failing = new Error('out of memory');
    login('1', 'default/alice');
    const [answer] = await relay.messages(1);
    expect(bodyOf(answer)).toMatchObject({ error: { code: new MusterError('internal').code } });
    expect(given.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('a root that stood still for longer than relays wait (R-5)', () => {
  test('reads nothing of what a relay sent meanwhile, and hangs up', async () => {
    const client = await given.client();
    await client.subscribe('1');
    clock.advance(5000);
    await relay.barrier();
    clock.standStill(11_000);
    relay.publish('too.late');
    await relay.end();
    expect(relay.frames).toEqual([]);
    expect(given.log.last()).toBe(0);
    expect(given.root.metrics.stalls).toBe(1);
    client.publish('after');
    expect(typesOf(await client.messages(1))).toEqual(['after']);
  });

  test('also when the timer runs before anything is read', async () => {
    clock.standStill(11_000);
    clock.advance(2500);
    await relay.end();
    expect(given.root.metrics.stalls).toBe(1);
  });

  test('by the relay that waits least', async () => {
    const hasty = await given.client('default/relay', { headers: [['send-timeout', '2000']] });
    clock.standStill(3000);
    hasty.publish('too.late');
    await Promise.all([hasty.end(), relay.end()]);
    expect(given.log.last()).toBe(0);
  });

  test.each(['99', '1.5', 'soon', ''])('and refuses the send-timeout %j', async (value) => {
    await expect(given.client('default/relay', { headers: [['send-timeout', value]] })).rejects.toThrow('at least 100');
  });

  test('keeps relays when it stood still for less', async () => {
    clock.standStill(7000);
    await relay.ask('SEND', EVENT);
    expect(given.root.metrics.stalls).toBe(0);
  });

  test('keeps all other clients', async () => {
    const client = await given.client();
    clock.standStill(60_000);
    await client.ask('SEND', EVENT);
    expect(given.log.last()).toBe(1);
  });
});

test.each([3_600_000, -3_600_000])('a clock that is set by %d ms costs no relay its connection', async (ms) => {
  clock.set(ms);
  await relay.ask('SEND', EVENT);
  clock.advance(2500);
  await relay.ask('SEND', EVENT);
  expect(given.root.metrics.stalls).toBe(0);
});

test('what a relay sent and gave up before it was stored is not stored any more (R-5)', async () => {
  const client = await given.client();
  given.log.hold();
  client.publish('first');
  await given.until(() => given.log.appends.length === 1);
  relay.publish('given.up');
  client.publish('second');
  await given.until(() => given.root.pending() === 2);
  relay.socket.resetAndDestroy();
  await given.until(() => given.root.clients().length === 1);
  given.log.letGo();
  await client.subscribe('1', '', [['from', 'first']]);
  expect(typesOf(await client.messages(2))).toEqual(['first', 'second']);
});
