import { systemClock } from '@muster/base';
import { type Client, type ClientOptions, connect } from '@muster/fabric/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RootFixture } from '../support/root-fixture.js';
import { take } from './support.js';

/** The library against the broker it is made for. */
let root: RootFixture;
const clients: Client[] = [];

beforeEach(async () => {
  root = await RootFixture.start();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await root.end();
});

async function connected(options: Partial<ClientOptions> = {}): Promise<Client> {
  const client = connect({
    url: `stomp://127.0.0.1:${root.port}`,
    login: 'default/client',
    passcode: 'secret',
    clock: systemClock,
    reconnect: { minMs: 1, maxMs: 1 },
    ...options,
  });
  clients.push(client);
  await client.ready();
  return client;
}

/** Cuts all connections, and waits until the client is back. */
async function cut(client: Client): Promise<void> {
  root.authority.revoke({ org: 'default', principal: null });
  await root.until(() => client.status.state !== 'connected');
  await root.until(() => client.status.state === 'connected');
}

describe('the client library and the root', () => {
  it('publish and follow by content', async () => {
    const [publisher, subscriber] = [await connected(), await connected()];
    const hot = subscriber.subscribe({ selector: "type = 'temp' AND celsius > 80" });
    await hot.ready;
    for (const celsius of ['79', '81', '80', '99']) {
      await publisher.publish({
        type: 'temp',
        attributes: [
          ['celsius', celsius],
          ['room', 'a:b\nc\\d'],
        ],
        body: `${celsius} °C\0`,
      });
    }
    const got = await take(hot, 2);
    expect(got.map((event) => event.text())).toEqual(['81 °C\0', '99 °C\0']);
    expect(got[0]).toMatchObject({ org: 'default', source: 'default/client', position: 2 });
    expect(got[0]?.attributes).toEqual([
      ['type', 'temp'],
      ['celsius', '81'],
      ['room', 'a:b\nc\\d'],
    ]);
  });

  it('say what is wrong with a login', async () => {
    const client = connect({ url: `stomp://127.0.0.1:${root.port}`, login: 'default/nobody', passcode: 'wrong' });
    clients.push(client);
    await expect(client.ready()).rejects.toMatchObject({ code: 'login_refused', message: 'login refused', exit: 3 });
  });

  it('say what is wrong with a selector, word by word', async () => {
    const client = await connected();
    const subscription = client.subscribe({ selector: 'celsius >' });
    const error = await subscription.ready.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'event_selector', details: { position: expect.any(Number) } });
    expect(client.status.state).toBe('connected');
  });

  it('fail only what the server refuses: the rest of the connection goes on', async () => {
    const told: string[] = [];
    const unpublished: string[] = [];
    root.authority.set('default/narrow', { publish: { granted: ['n'], restricted: [], open: [] } });
    const client = await connected({
      login: 'default/narrow',
      onStatus: ({ state }) => told.push(state),
      onUnpublished: ({ code }) => unpublished.push(code),
    });
    const good = client.subscribe({ selector: "type = 'n'" });
    const bad = client.subscribe({ selector: 'type =' });
    await good.ready;
    await expect(bad.ready).rejects.toMatchObject({ code: 'event_selector' });
    const before = client.publish({ type: 'n', body: 'before' });
    await expect(client.publish({ type: 'door.open' })).rejects.toMatchObject({ code: 'event_publish_denied' });
    await client.publishNow({ type: 'door.open' });
    await client.publish({ type: 'n', body: 'after' });
    await before;
    expect((await take(good, 2)).map((event) => event.text())).toEqual(['before', 'after']);
    expect(unpublished).toEqual(['event_publish_denied']);
    expect(told).toEqual(['connecting', 'connected']);
  });

  it('end the connection for an event without a receipt that is refused, when nobody listens for that', async () => {
    root.authority.set('default/narrow', { publish: { granted: ['n'], restricted: [], open: [] } });
    const told: (string | undefined)[] = [];
    const client = await connected({
      login: 'default/narrow',
      onStatus: (status) => told.push(status.state === 'lost' ? status.error.code : undefined),
    });
    await client.publishNow({ type: 'door.open' });
    await root.until(() => told.includes('event_publish_denied') && client.status.state === 'connected');
  });

  it('answer commands', async () => {
    const [asking, doing] = [await connected(), await connected()];
    const commands = doing.subscribe({ selector: "type = 'reboot'" });
    await commands.ready;
    const working = (async () => {
      for await (const command of commands) {
        await doing.complete(command, command.get('node') === 'n2' ? 3 : 0);
        if (command.get('node') === 'n2') return;
      }
    })();
    const [first, second] = await Promise.all(
      ['n1', 'n2'].map((node) =>
        asking.request({ type: 'reboot', attributes: [['node', node]] }, { timeoutMs: 60_000 }),
      ),
    );
    await working;
    expect([first?.error, second?.error]).toEqual([0, 3]);
  });

  it('lose and repeat nothing with `from`, whatever happens to the connection', async () => {
    const publisher = await connected({ login: 'default/other' });
    const client = await connected();
    const subscription = client.subscribe({ selector: "type = 'n'", from: 'first' });
    await subscription.ready;
    const got: string[] = [];
    const reading = (async () => {
      while (got.length < 300) got.push((await subscription.next()).value?.text() ?? 'end');
    })();
    for (let index = 0; index < 300; index++) {
      if (index % 100 === 50) root.authority.revoke({ org: 'default', principal: 'default/client' });
      await publisher.publish({ type: 'n', body: String(index) });
    }
    await reading;
    expect(got).toEqual(Array.from({ length: 300 }, (_, index) => String(index)));
  });

  it('go on with a durable subscription after what was acknowledged', async () => {
    const options = { durable: 'mine', ack: 'client-individual', selector: "type = 'n'" } as const;
    const publisher = await connected({ login: 'default/other' });
    const client = await connected();
    const first = client.subscribe(options);
    await first.ready;
    for (const body of ['1', '2', '3']) await publisher.publish({ type: 'n', body });
    const [one, two] = await take(first, 2);
    await one?.ack();
    await cut(client);
    const again = await take(first, 2);
    expect(again.map((event) => event.text())).toEqual(['2', '3']);
    await expect(two?.ack()).rejects.toMatchObject({ code: 'fabric_unconfirmed' });
    for (const event of again) await event.ack();
    await first.unsubscribe();
    await publisher.publish({ type: 'n', body: '4' });
    const second = client.subscribe(options);
    expect((await take(second, 1)).map((event) => event.text())).toEqual(['4']);
    await second.unsubscribe({ forget: true });
    expect(await root.cursors.list('default')).toEqual([]);
  });

  it('do not bring a durable subscription back that was deleted; the others go on', async () => {
    const client = await connected();
    const deleted = client.subscribe({ durable: 'mine', ack: 'client' });
    const other = client.subscribe({ selector: "type = 'n'", from: 'first' });
    await Promise.all([deleted.ready, other.ready]);
    await root.root.forget({ org: 'default', principal: 'default/client', kind: 'node', name: 'mine' });
    await expect(deleted.next()).rejects.toMatchObject({ code: 'event_durable_deleted' });
    await (await connected({ login: 'default/other' })).publish({ type: 'n' });
    await take(other, 1);
    expect(await root.cursors.list('default')).toEqual([]);
  });

  it('leave a durable subscription to whoever comes later, and do not take it back; the others go on', async () => {
    const options = { durable: 'mine', ack: 'client', selector: "type = 'n'" } as const;
    const [before, after] = [await connected(), await connected()];
    const lost = before.subscribe(options);
    const other = before.subscribe({ selector: "type = 'n'", from: 'first' });
    await Promise.all([lost.ready, other.ready]);
    const taking = after.subscribe(options);
    await taking.ready;
    await expect(lost.next()).rejects.toMatchObject({ code: 'event_durable_taken', details: { name: 'mine' } });
    expect((await lost.next()).done).toBe(true);
    expect(before.status.state).toBe('connected');
    await before.publish({ type: 'n', body: '1' });
    expect((await take(other, 1)).map((event) => event.text())).toEqual(['1']);
    expect((await take(taking, 1)).map((event) => event.text())).toEqual(['1']);
  });

  it('verify signatures end to end', async () => {
    const client = await connected();
    const subscription = client.subscribe({ verify: 'key' });
    await subscription.ready;
    await client.publish({ type: 'a', sign: 'other' });
    await client.publish({ type: 'b', sign: 'key', attributes: [['n', 'a:b\n\\']], body: 'x' });
    expect((await take(subscription, 1)).map(({ type }) => type)).toEqual(['b']);
    expect(subscription.refused).toBe(1);
  });

  it('plan future events', async () => {
    const client = await connected();
    const { scheduled } = await client.publish({ type: 'a', at: systemClock.now() + 3_600_000 });
    expect(scheduled).toEqual(expect.any(String));
  });

  it('say why an event was not taken', async () => {
    const client = await connected();
    await expect(client.publish({ type: 'a', body: new Uint8Array(4097) })).rejects.toMatchObject({
      code: 'stomp_too_large',
    });
    await root.until(() => client.status.state === 'connected');
    await expect(client.publish({ type: 'a', body: new Uint8Array(4096) })).rejects.toMatchObject({
      code: 'event_too_large',
      details: { limit: 4096 },
    });
  });
});
