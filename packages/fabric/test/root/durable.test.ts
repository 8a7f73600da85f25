import { ManualClock } from '@muster/base';
import { FABRIC_LIMITS, type Frame, type Headers, header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RawClient, typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
let publisher: RawClient;
beforeEach(async () => {
  given = await RootFixture.start();
  publisher = await given.client();
});
afterEach(() => given.end());

async function publish(...types: readonly string[]): Promise<void> {
  for (const type of types) {
    await publisher.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', type],
    ]);
  }
}

const DURABLE: Headers = [
  ['durable', 'd'],
  ['ack', 'client-individual'],
];

const KEY = { org: 'default', principal: 'default/worker', kind: 'node', name: 'd' } as const;

/** One more event, and how its client acknowledges it. */
async function one(client: RawClient): Promise<{ readonly ack: string }> {
  await publish('one');
  const [message] = await client.messages(1);
  return { ack: (message && header(message, 'ack')) ?? '' };
}

async function follower(headers: Headers = DURABLE, selector = ''): Promise<RawClient> {
  const client = await given.client('default/worker');
  await client.subscribe('1', selector, headers);
  return client;
}

const ack = (client: RawClient, message: Frame | undefined, command = 'ACK') =>
  client.ask(command, [['id', (message && header(message, 'ack')) ?? '']]);

describe('a durable subscription', () => {
  test('begins now, and goes on after a disconnect with what was not acknowledged', async () => {
    await publish('before');
    const client = await follower();
    await publish('a', 'b', 'c');
    const [a, b] = await client.messages(3);
    await ack(client, b);
    await ack(client, a);
    client.socket.destroy();
    await client.end();
    await publish('d');
    const again = await follower();
    expect(typesOf(await again.messages(2))).toEqual(['c', 'd']);
  });

  test('what was acknowledged out of turn is not delivered again, and what was not is', async () => {
    const client = await follower();
    await publish('a', 'b', 'c', 'd');
    const [, b, , d] = await client.messages(4);
    await ack(client, b);
    await ack(client, d);
    await client.ask('DISCONNECT', []);
    const again = await follower();
    await publish('e');
    expect(typesOf(await again.messages(3))).toEqual(['a', 'c', 'e']);
  });

  test('with ack:client an ACK is for everything before it, too', async () => {
    const headers: Headers = [
      ['durable', 'd'],
      ['ack', 'client'],
    ];
    const client = await follower(headers);
    await publish('a', 'b', 'c', 'd');
    const messages = await client.messages(4);
    await ack(client, messages[2]);
    await client.ask('DISCONNECT', []);
    expect(typesOf(await (await follower(headers)).messages(1))).toEqual(['d']);
  });

  test('an ACK with a receipt is saved when the receipt comes', async () => {
    const client = await follower();
    await publish('a');
    const [a] = await client.messages(1);
    await ack(client, a);
    const [cursor] = await given.cursors.list('default');
    expect(cursor).toMatchObject({ principal: 'default/worker', name: 'd', through: given.log.last(), selector: '' });
  });

  test('acknowledgements that nobody waits for are saved together', async () => {
    const client = await follower();
    await publish(...Array.from({ length: 50 }, (_, n) => `t${n}`));
    const { saves } = given.cursors;
    for (const message of await client.messages(50)) client.send('ACK', [['id', header(message, 'ack') ?? '']]);
    await client.barrier();
    await given.until(() => given.cursors.saves > saves);
    expect(given.cursors.saves - saves).toBeLessThan(5);
  });

  test('begins where it is told to, the first time', async () => {
    await publish('a', 'b');
    const client = await follower([...DURABLE, ['from', 'first']]);
    const [a] = await client.messages(2);
    await ack(client, a);
    await client.ask('DISCONNECT', []);
    expect(typesOf(await (await follower([...DURABLE, ['from', 'first']])).messages(1))).toEqual(['b']);
  });

  test('delivers nothing before it is stored where it begins', async () => {
    await publish('a');
    const client = await given.client('default/worker');
    const letGo = given.cursors.hold();
    client.send('SUBSCRIBE', [['id', '1'], ['destination', '/topic/events'], ['from', 'first'], ...DURABLE]);
    // Whatever else the connection is sent makes room for more.
    for (let round = 0; round < 3; round++) await client.barrier();
    expect(given.cursors.waiting).toBe(1);
    expect(client.frames).toEqual([]);
    letGo();
    expect(typesOf(await client.messages(1))).toEqual(['a']);
  });

  test('belongs to its principal and name', async () => {
    const [one, other] = await Promise.all([given.client('default/one'), given.client('default/other')]);
    for (const client of [one, other]) await client.subscribe('1', '', DURABLE);
    await one.subscribe('2', '', [
      ['durable', 'e'],
      ['ack', 'client'],
    ]);
    await publish('a');
    const [message] = await one.messages(2);
    await other.messages(1);
    await ack(one, message);
    const found = await given.cursors.list('default');
    expect(found.map(({ principal, name }) => `${principal} ${name}`)).toEqual([
      'default/one d',
      'default/one e',
      'default/other d',
    ]);
  });

  test('is delivered again when it is refused, marked so, and given up after as many times as allowed', async () => {
    const client = await follower();
    await publish('a');
    for (let time = 1; time <= FABRIC_LIMITS.redeliveries; time++) {
      const [message] = await client.messages(1);
      expect(message && header(message, 'type')).toBe('a');
      expect(message && header(message, 'redelivered')).toBe(time === 1 ? undefined : 'true');
      await ack(client, message, 'NACK');
    }
    const [marker] = await client.messages(1);
    expect(marker && header(marker, 'type')).toBe('fabric.dropped');
    expect(given.root.metrics).toMatchObject({ redelivered: FABRIC_LIMITS.redeliveries - 1, givenUp: 1 });
    expect(given.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await publish('b');
    expect(typesOf(await client.messages(1))).toEqual(['b']);
  });

  test('no more than the window waits for acknowledgement, and the rest comes from the log', async () => {
    const client = await follower();
    const events = FABRIC_LIMITS.prefetch + 500;
    for (let n = 0; n < events; n++) publisher.publish('a', [['n', String(n)]]);
    await given.until(() => given.log.last() === events);
    const messages = [...(await client.messages(FABRIC_LIMITS.prefetch))];
    await client.barrier();
    expect(client.frames).toEqual([]);
    for (const message of messages) client.send('ACK', [['id', header(message, 'ack') ?? '']]);
    messages.push(...(await client.messages(500)));
    expect(messages.map((message) => Number(header(message, 'n')))).toEqual([...Array(events).keys()]);
  });

  test('is taken over by the newest connection, and the older one is told', async () => {
    const first = await follower();
    await publish('a');
    const [a] = await first.messages(1);
    first.send('ACK', [['id', (a && header(a, 'ack')) ?? '']]);
    await first.barrier();
    const second = await follower();
    expect(header(await first.error(), 'code')).toBe('event_durable_taken');
    await publish('b');
    expect(typesOf(await second.messages(1))).toEqual(['b']);
  });

  test('selects only what it asks for now, and passes over the rest', async () => {
    const client = await follower(DURABLE, "type LIKE 'x%'");
    await publish('a', 'x1', 'b', 'x2', 'c');
    const messages = await client.messages(2);
    expect(typesOf(messages)).toEqual(['x1', 'x2']);
    for (const message of messages) await ack(client, message);
    await client.ask('DISCONNECT', []);
    await client.end();
    await given.until(() => given.cursors.saves > 0);
    const [cursor] = await given.cursors.list('default');
    expect(cursor).toMatchObject({ through: given.log.last(), acknowledged: [], selector: "type LIKE 'x%'" });
  });

  test('is forgotten by UNSUBSCRIBE that names it, and otherwise kept', async () => {
    const client = await follower();
    await client.ask('UNSUBSCRIBE', [['id', '1']]);
    expect(await given.cursors.list('default')).toHaveLength(1);
    await client.subscribe('1', '', DURABLE);
    await client.ask('UNSUBSCRIBE', [
      ['id', '1'],
      ['durable', 'd'],
    ]);
    expect(await given.cursors.list('default')).toEqual([]);
  });

  test.each([
    ['another', "which is the durable one 'd'"],
    ['', "which is the durable one 'd'"],
  ])('is not forgotten by UNSUBSCRIBE that names %j, nor ended', async (name, why) => {
    const client = await given.client('default/worker', { headers: [['refusals', 'message']] });
    await client.subscribe('1', '', DURABLE);
    client.send('UNSUBSCRIBE', [
      ['id', '1'],
      ['durable', name],
      ['receipt', 'r'],
    ]);
    const [refused] = await client.messages(1);
    expect(Object.fromEntries(refused?.headers ?? [])).toMatchObject({
      code: 'stomp_header_value',
      'receipt-id': 'r',
      message: expect.stringContaining(why),
    });
    expect(await given.cursors.list('default')).toHaveLength(1);
    await publish('x');
    expect(typesOf(await client.messages(1))).toEqual(['x']);
  });

  test('what is asked again while it is forgotten begins anew', async () => {
    const client = await follower([...DURABLE, ['from', 'first']]);
    await publish('a');
    await ack(client, (await client.messages(1))[0]);
    const letGo = given.cursors.hold();
    client.send('UNSUBSCRIBE', [
      ['id', '1'],
      ['durable', 'd'],
    ]);
    const again = client.subscribe('2', '', [...DURABLE, ['from', 'first']]);
    await client.barrier();
    letGo();
    await again;
    expect(typesOf(await client.messages(1))).toEqual(['a']);
    expect(await given.cursors.list('default')).toHaveLength(1);
  });

  test('that is deleted ends for who follows it, and does not come back', async () => {
    const client = await follower();
    await publish('a', 'b');
    const [a, b] = await client.messages(2);
    await ack(client, a);
    client.send('ACK', [['id', (b && header(b, 'ack')) ?? '']]);
    await client.barrier();
    expect(await given.root.forget(KEY)).toBe(true);
    const error = await client.error();
    expect(header(error, 'code')).toBe('event_durable_deleted');
    expect(header(error, 'message')).toContain("'d'");
    expect(await given.cursors.list('default')).toEqual([]);
    await given.root.stop();
    expect(await given.cursors.list('default')).toEqual([]);
  });

  test('that is deleted while it is saved does not come back, whether that succeeds or not', async () => {
    for (const failing of [false, true]) {
      const client = await follower();
      const letGo = given.cursors.hold();
      client.send('ACK', [['id', (await one(client)).ack]]);
      await given.until(() => given.cursors.waiting === 1);
      given.cursors.failing = failing;
      const forgotten = given.root.forget(KEY);
      letGo();
      given.cursors.failing = false;
      expect(await forgotten).toBe(true);
      await client.end();
      await given.root.forget({ ...KEY, name: 'other' });
      expect(await given.cursors.list('default')).toEqual([]);
    }
  });

  test('that cannot be deleted now is no reason to end another one that has its id by then', async () => {
    const client = new RawClient(given.port);
    await client.connect('default/worker', { headers: [['refusals', 'message']] });
    await client.subscribe('1', '', DURABLE);
    await client.subscribe('2', '', [
      ['durable', 'other'],
      ['ack', 'client-individual'],
    ]);
    given.cursors.failing = true;
    await publish('one');
    for (const message of await client.messages(2)) client.send('ACK', [['id', header(message, 'ack') ?? '']]);
    const unsubscribe: Headers = [
      ['id', '1'],
      ['durable', 'd'],
      ['receipt', 'gone'],
    ];
    client.send('UNSUBSCRIBE', unsubscribe);
    await client.subscribe('1');
    await client.until(() => client.frames.length > 0);
    const refusal = await client.next();
    expect(['code', 'receipt-id', 'refused'].map((name) => header(refusal, name))).toEqual([
      'store_unavailable',
      'gone',
      undefined,
    ]);
    given.cursors.failing = false;
    await publish('two');
    const subscriptions = (await client.messages(2)).map((message) => header(message, 'subscription'));
    expect(subscriptions.sort()).toEqual(['1', '2']);
    client.socket.destroy();
  });

  test('that nobody has cannot be deleted', async () => {
    expect(await given.root.forget(KEY)).toBe(false);
  });

  test('a SUBSCRIBE is answered though the subscription ends before it begins', async () => {
    const client = await given.client('default/worker');
    for (const [id, headers] of [
      ['1', DURABLE],
      ['2', [['from', 'first']]],
    ] as const) {
      const subscribe: Headers = [['id', id], ['destination', '/topic/events'], ['receipt', id], ...headers];
      client.send('SUBSCRIBE', subscribe);
      await client.ask('UNSUBSCRIBE', [['id', id]]);
    }
    const answered = () => client.frames.flatMap((each) => header(each, 'receipt-id') ?? []);
    await client.until(() => answered().length === 2);
    expect(answered()).toEqual(['1', '2']);
  });

  test('what was acknowledged is saved when the root stops', async () => {
    const client = await follower();
    await publish('a');
    const [a] = await client.messages(1);
    client.send('ACK', [['id', (a && header(a, 'ack')) ?? '']]);
    await client.barrier();
    await given.root.stop();
    expect((await given.cursors.list('default'))[0]).toMatchObject({ through: given.log.last() });
  });

  test('what cannot be saved when the root stops is told, and not tried for ever', async () => {
    const clock = new ManualClock();
    const root = await RootFixture.start({ clock });
    const client = await root.client('default/worker');
    await client.subscribe('1', '', DURABLE);
    root.cursors.failing = true;
    await expect(root.end()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(clock.pending).toBe(0);
  });

  test('an ACK that cannot be saved is answered with an ERROR, and saved later', async () => {
    const client = await follower();
    await publish('a');
    const [a] = await client.messages(1);
    given.cursors.failing = true;
    client.send('ACK', [
      ['id', (a && header(a, 'ack')) ?? ''],
      ['receipt', 'x'],
    ]);
    const error = await client.error();
    expect(header(error, 'code')).toBe('store_unavailable');
    expect(header(error, 'receipt-id')).toBe('x');
    given.cursors.failing = false;
    await given.root.stop();
    expect((await given.cursors.list('default'))[0]).toMatchObject({ through: given.log.last() });
  });

  test('what was pruned before it was read is told', async () => {
    const client = await follower();
    await client.ask('DISCONNECT', []);
    await publish('a', 'b', 'c');
    given.log.prune(2);
    const [marker, c] = await (await follower()).messages(2);
    expect(marker && header(marker, 'dropped')).toBe('2');
    expect(c && header(c, 'type')).toBe('c');
  });

  test('COMMIT is answered when what was acknowledged in it is not followed any more', async () => {
    const client = await follower();
    await publish('a');
    const [message] = await client.messages(1);
    await client.ask('BEGIN', [['transaction', 't']]);
    await client.ask('ACK', [
      ['id', (message && header(message, 'ack')) ?? ''],
      ['transaction', 't'],
    ]);
    await client.ask('UNSUBSCRIBE', [['id', '1']]);
    await client.ask('COMMIT', [['transaction', 't']]);
  });

  test('an ACK in a transaction counts from COMMIT on', async () => {
    const client = await follower();
    await publish('a', 'b');
    const messages = await client.messages(2);
    await client.ask('BEGIN', [['transaction', 't']]);
    await client.ask('ACK', [
      ['id', (messages[0] && header(messages[0], 'ack')) ?? ''],
      ['transaction', 't'],
    ]);
    await client.ask('COMMIT', [['transaction', 't']]);
    await client.ask('BEGIN', [['transaction', 't']]);
    await client.ask('ACK', [
      ['id', (messages[1] && header(messages[1], 'ack')) ?? ''],
      ['transaction', 't'],
    ]);
    await client.ask('DISCONNECT', []);
    expect(typesOf(await (await follower()).messages(1))).toEqual(['b']);
  });
});
