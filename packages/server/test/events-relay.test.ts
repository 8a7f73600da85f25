import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { systemClock } from '@muster/base';
import { header } from '@muster/fabric';
import { startRelay } from '@muster/fabric/relay';
import { afterEach, expect, it } from 'vitest';
import type { EventClient } from '../../platform/test/support/event-client.js';
import { newKey } from '../../platform/test/support/personas.js';
import { ORG, useEventServer } from './support/event-server.js';

const events = useEventServer();
const silent = { debug() {}, info() {}, warn() {}, error() {} };

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The way from a relay to the server, which can be closed, and opened again to where the server listens then. */
async function way() {
  const sockets = new Set<Socket>();
  let port: number | null = null;
  const server = createServer((below) => {
    if (port === null) {
      below.destroy();
      return;
    }
    const above = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [below, above],
      [above, below],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => sockets.delete(one));
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = async () => {
    port = Number((await events.where()).stomp.split(':').at(-1));
  };
  const close = () => {
    port = null;
    for (const socket of sockets) socket.destroy();
  };
  ends.push(async () => {
    close();
    await new Promise((resolve) => server.close(resolve));
  });
  await open();
  return { url: `stomp://127.0.0.1:${(server.address() as AddressInfo).port}`, close, open };
}

async function relayBelow(upstream: string) {
  const relay = startRelay(
    {
      upstream,
      listen: ['127.0.0.1:0'],
      login: 'default/relay',
      passcode: () => events.signature('default/relay'),
      retryMs: 50,
    },
    { clock: systemClock, log: silent, random: Math.random },
  );
  ends.push(() => relay.stop());
  const [url = ''] = await relay.serving;
  const state = (wanted: string, connects: number) =>
    expect.poll(() => relay.status().upstream).toMatchObject({ state: wanted, connects });
  return { url, state };
}

async function sourcesOf(client: EventClient, count: number): Promise<string[]> {
  const sources: string[] = [];
  while (sources.length < count) {
    const event = await client.event();
    sources.push(`${header(event, 'source')} ${header(event, 'source-kind')}`);
  }
  return sources;
}

const makeToken = async () =>
  (await events.api.post('/access_tokens', { user: 'alice' })).body as { id: string; token: string };

it('a token that is deleted while a relay is cut off ends the session it had there, when the relay is back', async () => {
  await events.withGroup('event_relays', { clients: ['relay'] }, async () => {
    const path = await way();
    const relay = await relayBelow(path.url);
    const { id, token } = await makeToken();
    const revoked = await events.connect('default/alice', token, relay.url);
    const [user, node] = [
      await events.connect('default/bob', await events.token('bob'), relay.url),
      await events.connect('default/web1', events.signature('default/web1'), relay.url),
    ];
    path.close();
    await relay.state('degraded', 1);
    expect((await events.api.delete(`/access_tokens/${id}`)).status).toBe(204);
    await path.open();
    await relay.state('serving', 2);
    expect(await revoked.error()).toContain("the rights of 'default/alice' have changed or ended");
    await expect(events.connect('default/alice', token, relay.url)).rejects.toThrow('login refused');
    for (const client of [user, node]) {
      await client.subscribe("type = 'after'");
      await client.publish('after');
      await client.event();
    }
  });
});

it('a user, a node and a service of one name are told apart, whichever way their events come', async () => {
  await events.create('/users', 'web1', { organization: 'default' });
  const other = { public_key: newKey().publicKey };
  await events.create(`${ORG}/services`, 'twin', other);
  await events.create('/users', 'twin', { organization: 'default' });
  await events.withGroup('event_relays', { clients: ['relay'] }, async () => {
    const relay = await relayBelow((await way()).url);
    const path = `${ORG}/services/twin/access_tokens`;
    const { token } = (await events.api.post(path, {})).body as { token: string };
    for (const url of [undefined, relay.url]) {
      // The key is that of the node and of the user, and the login is then the node's.
      const node = await events.connect('default/web1', events.signature('default/web1'), url);
      const user = await events.connect('default/web1', await events.token('web1'), url);
      const service = await events.connect('default/twin', token, url);
      const twin = await events.connect('default/twin', await events.token('twin'), url);
      const followers = [
        await events.as('alice'),
        await events.connect('default/alice', await events.token('alice'), relay.url),
      ];
      for (const one of followers) await one.subscribe("type = 'hello'");
      for (const one of [node, user, service, twin]) await one.publish('hello');
      for (const one of followers) {
        expect(await sourcesOf(one, 4)).toEqual([
          'default/web1 node',
          'default/web1 user',
          'default/twin service',
          'default/twin user',
        ]);
      }
      const [chooser = expect.fail('no follower')] = followers;
      await chooser.subscribe(`"source-kind" = 'user' AND source = 'default/web1'`, [['from', '-1h']]);
      expect(await sourcesOf(chooser, 1)).toEqual(['default/web1 user']);
    }
  });
});

it('nobody says of themselves of which kind they are, over a relay either', async () => {
  await events.withGroup('event_relays', { clients: ['relay'] }, async () => {
    const relay = await relayBelow((await way()).url);
    for (const url of [undefined, relay.url]) {
      for (const [header, reason] of [
        ['source-kind', /source-kind/],
        ['on-behalf-kind', /on-behalf-kind/],
      ] as const) {
        const alice = await events.connect('default/alice', await events.token('alice'), url);
        await expect(alice.publish('hello', [[header, 'user']])).rejects.toThrow(reason);
      }
    }
  });
});

it('a server that was started again tells relays of withdrawals that concern logins of before', async () => {
  await events.withGroup('event_relays', { clients: ['relay'] }, async () => {
    const path = await way();
    const relay = await relayBelow(path.url);
    const { id, token } = await makeToken();
    const client = await events.connect('default/alice', token, relay.url);
    path.close();
    await events.restart();
    await path.open();
    await relay.state('serving', 2);
    await client.publish('still.there');
    expect((await events.api.delete(`/access_tokens/${id}`)).status).toBe(204);
    expect(await client.error()).toContain('have changed or ended');
  });
});
