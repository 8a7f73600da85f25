import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { systemClock } from '@muster/base';
import { startRelay } from '@muster/fabric/relay';
import { afterEach, expect, it } from 'vitest';
import { useEventServer } from './support/event-server.js';

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
    expect.poll(() => relay.status().upstream, { timeout: 20_000 }).toMatchObject({ state: wanted, connects });
  return { url, state };
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
