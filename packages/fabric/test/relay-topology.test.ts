import { systemClock } from '@muster/base';
import { listenForChannels } from '@muster/fabric';
import { afterEach, describe, expect, test } from 'vitest';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../platform/test/support/tls.js';
import { startRelay } from '../src/relay/index.js';
import { header } from '../src/stomp/frame.js';
import { answers, realRoot, relayBelow, scriptedParent, small, stopAll, tree } from './relay-support/start.js';
import { typesOf } from './support/raw-client.js';

afterEach(stopAll);

const around = {
  clock: systemClock,
  log: { debug() {}, info() {}, warn() {}, error() {} },
  random: Math.random,
};
const options = {
  upstream: 'stomp://127.0.0.1:1',
  listen: ['127.0.0.1:0'],
  login: 'default/relay',
  passcode: () => 'secret',
};

describe('T-1 to T-5: where a relay may stand', () => {
  test('T-1: what comes from upstream goes down only, what comes from clients goes up only', async () => {
    const { parent, relay } = await small();
    const client = await relay.client();
    await client.subscribe('1');
    parent.habits.passesDown = false;
    client.publish('up');
    parent.publish('down');
    expect(typesOf(await client.messages(1))).toEqual(['down']);
    await parent.until(() => parent.published.length > 0);
    expect(typesOf(parent.published)).toEqual(['up']);
  });

  test('T-2: between two levels there is one connection and nothing else', async () => {
    const { root, relays } = await tree(3);
    expect(root.root.clients().map(({ principal, relay }) => [principal, relay])).toEqual([['default/relay', true]]);
    expect(relays.map((relay) => relay.status().clients)).toEqual([1, 1, 0]);
  });

  test.each([undefined, ''])('T-3: without an upstream (%j) it refuses to start and says why', (upstream) => {
    expect(() => startRelay({ ...options, upstream }, around)).toThrow(
      'a relay needs an upstream: it passes events on and cannot be the root of the tree',
    );
  });

  test('T-4: it sends no subscriptions downward, so that a broker below would never hear of any', async () => {
    const { leaf } = await tree(2);
    const [broker, client] = [await leaf.client(), await leaf.client()];
    await client.subscribe('1', "type = 'a'");
    await client.ask('UNSUBSCRIBE', [['id', '1']]);
    await broker.barrier();
    expect(broker.frames).toEqual([]);
  });

  test('T-5: a chain of relays of any depth ends at its root', async () => {
    const { root, leaf } = await tree(6);
    const [above, below] = [await root.client(), await leaf.client()];
    await above.subscribe('1');
    await below.subscribe('1');
    below.publish('up');
    above.publish('down');
    for (const client of [above, below]) expect(typesOf(await client.messages(2)).sort()).toEqual(['down', 'up']);
  });

  test('R-3: a relay in the middle that is started again brings everything below it back', async () => {
    const parent = await scriptedParent();
    const middle = relayBelow(parent.url);
    const port = await middle.port();
    const leaf = relayBelow(port);
    const client = await leaf.client();
    await client.subscribe('1');
    await middle.relay.stop();
    await leaf.until(({ upstream }) => upstream.state === 'degraded');
    relayBelow(parent.url, { listen: [`127.0.0.1:${port}`] });
    await leaf.until(({ upstream }) => upstream.state === 'serving');
    parent.publish('a');
    expect(typesOf(await client.messages(2))).toEqual(['fabric.dropped', 'a']);
  });
});

describe('A-4: several relays on one machine', () => {
  test('two instances do not hear each other', async () => {
    const [one, other] = [await small(), await small()];
    const clients = await Promise.all([one, other].map(({ relay }) => relay.client()));
    for (const client of clients) await client.subscribe('1');
    one.parent.publish('one');
    other.parent.publish('other');
    expect(await Promise.all(clients.map(async (client) => typesOf(await client.messages(1))))).toEqual([
      ['one'],
      ['other'],
    ]);
    for (const client of clients) {
      await client.barrier();
      expect(client.frames).toEqual([]);
    }
  });

  test('two relays below the same parent serve each their own clients', async () => {
    const parent = await scriptedParent();
    const relays = [relayBelow(parent.url), relayBelow(parent.url)];
    const clients = await Promise.all(relays.map((relay) => relay.client()));
    for (const client of clients) await client.subscribe('1');
    clients[0]?.publish('a');
    for (const client of clients) expect(typesOf(await client.messages(1))).toEqual(['a']);
    expect(relays.map((relay) => relay.status().clients)).toEqual([1, 1]);
  });

  test('a port that is taken is said at once, with the address', async () => {
    const { parent, relay } = await small();
    const second = relayBelow(parent.url, { listen: [`127.0.0.1:${await relay.port()}`] });
    const failure = await second.relay.failed;
    expect(failure.code).toBe('address_in_use');
    expect(failure.message).toContain(`127.0.0.1:${await relay.port()}`);
    expect(second.state()).toBe('stopped');
  });
});

describe('how it is started and stopped', () => {
  test.each([
    ['beyond this machine without TLS', { listen: ['0.0.0.0:0'] }, 'insecure_relay'],
    [
      'beyond this machine without TLS, among others',
      { listen: ['127.0.0.1:0', 'ws://0.0.0.0:0/x'] },
      'insecure_relay',
    ],
    ['nowhere', { listen: [] }, 'usage'],
    ['with TLS, but without a certificate', { listen: ['stomp+tls://127.0.0.1:0'] }, 'usage'],
    ['at an address that is none', { listen: ['http://127.0.0.1:0'] }, 'invalid_field'],
  ] as const)('it refuses to listen %s', (_, listening, code) => {
    expect(() => startRelay({ ...options, ...listening }, around)).toThrow(expect.objectContaining({ code }));
  });

  test.each([
    ['no login', { login: undefined }],
    ['no passcode', { passcode: undefined }],
    ['a login that is not ORG/NAME', { login: 'relay' }],
  ] as const)('it refuses to start with %s', (_, missing) => {
    expect(() => startRelay({ ...options, ...missing }, around)).toThrow(expect.objectContaining({ code: 'usage' }));
  });

  test('it listens at several addresses, also for WebSockets', async () => {
    const { relay } = await small({ listen: ['127.0.0.1:0', 'ws://127.0.0.1:0/stomp'] });
    expect(relay.status().listen).toEqual([
      expect.stringMatching(/^stomp:\/\/127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+\/stomp$/),
    ]);
  });

  test('when it stops its clients hear why, and nothing listens any more', async () => {
    const { parent, relay } = await small();
    const port = await relay.port();
    const client = await relay.client();
    await relay.relay.stop();
    expect(header(await client.error(), 'code')).toBe('relay_stopping');
    expect(await answers(port)).toBe(false);
    await parent.until(() => parent.children === 0);
  });
});

test('it connects upstream over TLS when it trusts the certificate, and listens with TLS', async () => {
  const root = await realRoot();
  const tls = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY };
  const listener = await listenForChannels('stomp+tls://localhost:0', { tls }, root.root.accept);
  const upper = relayBelow(listener.url, { ca: TEST_CERTIFICATE, listen: ['stomp+tls://localhost:0'], tls });
  const [url] = await upper.relay.serving;
  const lower = relayBelow(url ?? '', { ca: TEST_CERTIFICATE });
  const client = await lower.client();
  await client.subscribe('1');
  client.publish('a');
  expect(typesOf(await client.messages(1))).toEqual(['a']);
  const stranger = relayBelow(listener.url);
  await stranger.until(({ upstream }) => upstream.last_error !== null);
  expect(stranger.status().upstream.last_error).toMatch(/certificate/);
  await listener.close();
});
