import { type Headers, header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

const EVENTS: Headers = [['destination', '/topic/events']];
const NOTHING = { granted: [], restricted: [], open: [] };

let given: RootFixture;
let client: RawClient;
beforeEach(async () => {
  given = await RootFixture.start();
  given.authority.set('default/narrow', { publish: { ...NOTHING, granted: ['temp.*'] } });
  client = await given.client('default/narrow', { headers: [['refusals', 'message']] });
  await client.subscribe('1');
});
afterEach(() => given.end());

/** Takes one away: what it says of which frame. */
async function refusal(): Promise<Record<string, string>> {
  const [message] = await client.messages(1);
  const { subscription, 'receipt-id': receipt, code } = Object.fromEntries(message?.headers ?? []);
  return { subscription, ...(receipt !== undefined && { receipt }), code } as Record<string, string>;
}

const refused = (code: string, receipt?: string) => ({
  subscription: '/temp-queue/refused',
  ...(receipt !== undefined && { receipt }),
  code,
});

describe('whoever asks for refusals as messages', () => {
  test('is told of an event that it may not publish, and stays connected and subscribed', async () => {
    client.send('SEND', [...EVENTS, ['type', 'door.open'], ['receipt', 'x']]);
    expect(await refusal()).toEqual(refused('event_publish_denied', 'x'));
    client.publish('temp.high');
    expect(typesOf(await client.messages(1))).toEqual(['temp.high']);
  });

  test.for<[string, string, Headers, string]>([
    ['an event that is too large', 'SEND', [...EVENTS, ['type', 'temp'], ['x', 'y'.repeat(4096)]], 'event_too_large'],
    ['a selector that is none', 'SUBSCRIBE', [...EVENTS, ['id', '2'], ['selector', 'a =']], 'event_selector'],
    ['an unknown destination', 'SEND', [['destination', '/queue/a']], 'stomp_destination'],
    ['a missing header', 'UNSUBSCRIBE', [], 'stomp_missing_header'],
  ])('is told of %s', async ([, command, headers, code]) => {
    client.send(command, headers);
    expect(await refusal()).toEqual(refused(code));
    await client.barrier();
  });

  test('is told what was wrong and what to do, and the details as they are', async () => {
    client.send('SEND', [...EVENTS, ['type', 'a "b"']]);
    const [message] = await client.messages(1);
    expect(message && header(message, 'message')).toMatch(/not 'a "b"'. Name the event by such a type.$/);
    expect(JSON.parse(Buffer.from(message?.body ?? []).toString())).toEqual({ type: 'a "b"' });
  });

  test('is told of an event that could not be stored', async () => {
    given.log.fail(true);
    client.send('SEND', [...EVENTS, ['type', 'temp.high'], ['receipt', 'x']]);
    expect(await refusal()).toEqual(refused('store_unavailable', 'x'));
    await client.barrier();
  });

  test('may do no more than before', async () => {
    client.send('SEND', [...EVENTS, ['type', 'temp.high'], ['on-behalf', 'default/alice']]);
    expect(await refusal()).toEqual(refused('stomp_relays_only'));
  });

  test('still hears by ERROR what ends the connection: what cannot be read', async () => {
    client.write('SHOUT\n\n\0');
    expect(header(await client.error(), 'code')).toBe('stomp_unknown_command');
  });

  test('hears nothing else than what it may: any other value is refused', async () => {
    const other = given.raw();
    other.write('CONNECT\naccept-version:1.2\nlogin:default/a\npasscode:secret\nrefusals:never\n\n\0');
    const error = await other.error();
    expect([header(error, 'code'), header(error, 'message')]).toEqual([
      'stomp_header_value',
      expect.stringContaining("'refusals'"),
    ]);
  });
});

describe('transactions of such a client', () => {
  const IN: Headers = [['transaction', 't']];

  test('end with the first frame that is refused: nothing of them is published', async () => {
    await client.ask('BEGIN', IN);
    client.publish('temp.high', IN);
    client.publish('door.open', IN);
    expect(await refusal()).toEqual(refused('event_publish_denied'));
    client.send('COMMIT', [...IN, ['receipt', 'c']]);
    expect(await refusal()).toEqual(refused('stomp_transaction_missing', 'c'));
    expect(given.log.last()).toBe(0);
    await client.ask('BEGIN', IN);
  });

  test('that cannot be stored are refused once, and their receipt never comes', async () => {
    await client.ask('BEGIN', IN);
    client.publish('temp.high', IN);
    client.publish('temp.low', IN);
    given.log.fail(true);
    client.send('COMMIT', [...IN, ['receipt', 'c']]);
    expect(await refusal()).toEqual(refused('store_unavailable', 'c'));
    await client.barrier();
    expect(client.frames).toEqual([]);
    given.log.fail(false);
    await client.ask('BEGIN', IN);
    client.publish('temp.high', IN);
    client.send('COMMIT', [...IN, ['receipt', 'c']]);
    await client.until(() => client.frames.some((each) => header(each, 'receipt-id') === 'c'));
  });
});
