import { afterEach, expect, test } from 'vitest';
import { FABRIC_LIMITS } from '../src/limits.js';
import { type Headers, header } from '../src/stomp/frame.js';
import { realRoot, relayBelow, stopAll, type TestRelay } from './relay-support/start.js';
import { RawClient, typesOf } from './support/raw-client.js';

/* What one client sends must not end the connection that a relay has for all of them. */

afterEach(stopAll);

const EVENT: Headers = [
  ['destination', '/topic/events'],
  ['type', 'many'],
];

/** Another client of the relay is still there, and hears events on the connection of before. */
async function goesOn(relay: TestRelay, other: RawClient): Promise<void> {
  other.publish('still.there');
  expect(typesOf(await other.messages(1))).toEqual(['still.there']);
  expect(relay.status()).toMatchObject({ upstream: { connects: 1, last_error: null }, drops: { count: 0 } });
}

test.each([256, 4096])(
  'a passcode that is too long for upstream is refused; events of up to %d bytes',
  async (eventBytes) => {
    const root = await realRoot({ eventBytes });
    const relay = relayBelow(root.port);
    const other = await relay.client();
    await other.subscribe('1');
    const stranger = new RawClient(await relay.port());
    stranger.send('CONNECT', [
      ['accept-version', '1.2'],
      ['login', 'default/stranger'],
      ['passcode', 'p'.repeat(7000)],
    ]);
    expect(header(await stranger.error(), 'code')).toBe('login_refused');
    await goesOn(relay, other);
  },
);

test('a root that takes only small events reads the logins of relays all the same', async () => {
  const root = await realRoot({ eventBytes: 256 });
  const client = new RawClient(await relayBelow(root.port).port());
  client.send('CONNECT', [
    ['accept-version', '1.2'],
    ['login', 'default/client'],
    ['passcode', 'p'.repeat(1000)],
  ]);
  expect(header(await client.error(), 'code')).toBe('login_refused');
});

test('an event of as many attributes as are allowed goes up through every relay', async () => {
  const root = await realRoot();
  const upper = relayBelow(root.port);
  const lower = relayBelow(await upper.port());
  const client = await lower.client();
  await client.subscribe('1');
  const attributes = Array.from({ length: FABRIC_LIMITS.attributes - 1 }, (_, index) => [`a${index}`, 'x'] as const);
  await client.ask('SEND', [...EVENT, ...attributes, ['at', '0'], ['content-length', '0']]);
  await root.until(() => root.schedule.events.length === 1);
  await root.schedule.fire(0);
  expect(typesOf(await client.messages(1))).toEqual(['many']);
});

test('an event of more attributes is refused where it is published', async () => {
  const root = await realRoot();
  const relay = relayBelow(root.port);
  const other = await relay.client();
  await other.subscribe('1');
  const client = await relay.client('default/other');
  client.send('SEND', [
    ...EVENT,
    ...Array.from({ length: FABRIC_LIMITS.attributes }, (_, index) => [`a${index}`, 'x'] as const),
  ]);
  expect(header(await client.error(), 'code')).toBe('stomp_too_large');
  await goesOn(relay, other);
});

test.each([
  ['without a name', '  :x'],
  ['with a name that is too long when it is escaped', `${'\\'.repeat(200)}:x`],
])('an attribute %s, which only STOMP 1.0 can express, is refused where it is published', async (_, line) => {
  const root = await realRoot();
  const relay = relayBelow(root.port);
  const other = await relay.client();
  await other.subscribe('1');
  const old = await root.client('default/old', { version: '1.0' });
  old.write(`SEND\ndestination:/topic/events\ntype:many\n${line}\n\n\0`);
  expect(header(await old.error(), 'code')).toBe('stomp_invalid_header');
  await goesOn(relay, other);
});

test('the size of what STOMP 1.0 does not escape is that of what is forwarded', async () => {
  const root = await realRoot();
  const old = await root.client('default/old', { version: '1.0' });
  old.write(`SEND\ndestination:/topic/events\ntype:many\na:${':'.repeat(3000)}\n\n\0`);
  expect(header(await old.error(), 'code')).toBe('event_too_large');
});
