import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Client, connect, type EventMessage } from '../src/client/node.js';
import { realRoot, relayBelow, stopAll } from './relay-support/start.js';
import { RawClient } from './support/raw-client.js';
import type { RootFixture } from './support/root-fixture.js';

let dir: string;
let url: string;
let root: RootFixture;
const clients: Client[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'muster-own-'));
  url = `stomp+unix:${join(dir, 'events.sock')}`;
  root = await realRoot();
  root.authority.set('default/web1', {});
  const relay = relayBelow(root.port, { listen: [url], login: 'default/web1', own: true });
  expect(await relay.relay.serving).toEqual([url]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await stopAll();
  rmSync(dir, { recursive: true, force: true });
});

function local(): Client {
  const client = connect({ url, login: 'anybody', passcode: '' });
  clients.push(client);
  return client;
}

async function watcher(selector: string): Promise<RawClient> {
  const client = new RawClient(root.port);
  await client.connect('default/watcher');
  await client.subscribe('w', selector);
  return client;
}

const next = async (events: AsyncIterator<EventMessage, undefined>) => (await events.next()).value;

describe('a relay whose clients speak as its own login', () => {
  test('need not be known as a relay, and asks nobody who they are', async () => {
    const server = await watcher("type = 'temp.high'");
    const client = local();
    await client.ready();
    await client.publish({ type: 'temp.high', attributes: [['celsius', '81']] });
    const [event] = await server.messages(1);
    expect(Object.fromEntries(event?.headers ?? [])).toMatchObject({ source: 'default/web1', celsius: '81' });
    server.socket.destroy();
  });

  test('gives them what is published elsewhere', async () => {
    const events = local().subscribe({ selector: "type = 'deploy'" });
    await events.ready;
    const server = await watcher("type = 'none'");
    server.publish('deploy', [['version', '7']]);
    expect((await next(events))?.get('version')).toBe('7');
    server.socket.destroy();
  });

  test.each([undefined, 'first'])('knows names in double quotes, as the root does (from: %s)', async (from) => {
    const client = local();
    await client.ready();
    const selector = `"my-attr" = 'a"b' AND "message-id" > 0 AND 'x' = ("or")`;
    const events = client.subscribe({ selector, ...(from !== undefined && { from }) });
    await events.ready;
    await client.publish({ type: 'early', attributes: [['my-attr', 'a']] });
    const attributes = [
      ['my-attr', 'a"b'],
      ['or', 'x'],
      ['n', '2'],
    ] as const;
    await client.publish({ type: 'early', attributes });
    expect((await next(events))?.get('n')).toBe('2');
  });

  test('passes up what begins in the past', async () => {
    const client = local();
    await client.ready();
    await client.publish({ type: 'early' });
    const events = client.subscribe({ selector: "type = 'early'", from: 'first' });
    expect((await next(events))?.source).toBe('default/web1');
  });

  test('passes up durable subscriptions, and future events', async () => {
    const client = local();
    const events = client.subscribe({ selector: "type = 'mail'", durable: 'inbox', ack: 'client' });
    await events.ready;
    const { scheduled } = await client.publish({ type: 'mail', at: Date.now() + 3_600_000 });
    expect(scheduled).toMatch(/./);
    await client.publish({ type: 'mail' });
    await (await next(events))?.ack();
  });

  test('lets only the program be cut that publishes what the login may not', async () => {
    root.authority.set('default/web2', { publish: { granted: ['temp.*'], restricted: [], open: [] } });
    const second = `stomp+unix:${join(dir, 'second.sock')}`;
    const relay = relayBelow(root.port, { listen: [second], login: 'default/web2', own: true });
    await relay.relay.serving;
    const [other, wrong] = [second, second].map((each) => connect({ url: each, login: 'anybody', passcode: '' }));
    if (other === undefined || wrong === undefined) throw new Error('two programs');
    clients.push(other, wrong);
    const events = other.subscribe({ selector: "type = 'temp.high'" });
    await events.ready;
    await wrong.ready();
    await expect(wrong.publish({ type: 'door.open' })).rejects.toMatchObject({ code: 'event_publish_denied' });
    await other.publish({ type: 'temp.high' });
    expect((await next(events))?.source).toBe('default/web2');
    expect(relay.status().upstream.connects).toBe(1);
    expect(relay.status().drops).toMatchObject({ count: 0 });
  });

  test.each(['now', 'first'])('tells the program alone that its subscription (from %s) is refused', async (from) => {
    root.authority.set('default/web3', { subscribe: { granted: ['temp.*'], restricted: [], open: [] } });
    const third = `stomp+unix:${join(dir, 'third.sock')}`;
    const relay = relayBelow(root.port, { listen: [third], login: 'default/web3', own: true });
    await relay.relay.serving;
    const client = connect({ url: third, login: 'anybody', passcode: '' });
    clients.push(client);
    const events = client.subscribe({ selector: "type = 'door.open'", ...(from !== 'now' && { from }) });
    await expect(events.ready).rejects.toMatchObject({ code: 'event_subscribe_denied' });
    expect(relay.status().upstream.connects).toBe(1);
  });

  test('tells a program that events of some types are not for it', async () => {
    root.authority.set('default/web5', { subscribe: { granted: [], restricted: ['door.*'], open: ['*'] } });
    const relay = relayBelow(root.port, { listen: [`${url}5`], login: 'default/web5', own: true });
    await relay.relay.serving;
    const client = connect({ url: `${url}5`, login: 'anybody', passcode: '' });
    clients.push(client);
    const [all, some] = [client.subscribe(), client.subscribe({ selector: "type LIKE 'temp.%'" })];
    await Promise.all([all.ready, some.ready]);
    expect([all.narrowed, some.narrowed]).toEqual([true, false]);
  });

  test('ends at once, and says why, when its login may follow nothing', async () => {
    root.authority.set('default/web4', { subscribe: { granted: [], restricted: [], open: [] } });
    const relay = relayBelow(root.port, { listen: [`${url}4`], login: 'default/web4', own: true });
    expect(await relay.relay.failed).toMatchObject({ code: 'upstream_refused' });
    expect((await relay.relay.failed).message).toContain("'default/web4' may not follow events");
  });
});
