import { ManualClock } from '@muster/base';
import { header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
let clock: ManualClock;
let publisher: RawClient;
beforeEach(async () => {
  clock = new ManualClock(Date.UTC(2026, 10, 20, 12));
  given = await RootFixture.start({ clock });
  publisher = await given.client();
});
afterEach(() => given.end());

async function publish(...types: readonly string[]): Promise<void> {
  for (const type of types.slice(0, -1)) publisher.publish(type);
  await publisher.ask('SEND', [
    ['destination', '/topic/events'],
    ['type', types.at(-1) ?? ''],
  ]);
}

describe('a subscription that begins in the past (F6)', () => {
  test('`first` gives everything that is kept, then what happens', async () => {
    await publish('a', 'b', 'c');
    const client = await given.client();
    await client.subscribe('1', '', [['from', 'first']]);
    await client.messages(3);
    await publish('d');
    expect(typesOf(await client.messages(1))).toEqual(['d']);
  });

  test('a position gives the events after it', async () => {
    await publish('a', 'b', 'c');
    const client = await given.client();
    await client.subscribe('1', '', [['from', '2']]);
    expect(typesOf(await client.messages(1))).toEqual(['c']);
  });

  test('a position that is still to come gives what happens from now on', async () => {
    await publish('a');
    const client = await given.client();
    await client.subscribe('1', '', [['from', '999']]);
    await publish('b');
    expect(typesOf(await client.messages(1))).toEqual(['b']);
  });

  test('a time gives the events since, and so does a time that is so long ago', async () => {
    await publish('old');
    clock.advance(3_600_000);
    await publish('new');
    clock.advance(60_000);
    const client = await given.client();
    await client.subscribe('time', '', [['from', '2026-11-20T12:30:00Z']]);
    await client.subscribe('ago', '', [['from', '-1h']]);
    expect(typesOf(await client.messages(2))).toEqual(['new', 'new']);
    await client.subscribe('longer', '', [['from', '-2h']]);
    expect(typesOf(await client.messages(2))).toEqual(['old', 'new']);
  });

  test('only what the selector and the rights allow, of the own organization', async () => {
    const other = await given.client('other/bob');
    await other.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'temp.theirs'],
    ]);
    await publish('temp.a', 'door.b', 'temp.c', 'secret.d');
    given.authority.set('default/narrow', { subscribe: { granted: [], restricted: ['secret.*'], open: ['*'] } });
    const client = await given.client('default/narrow');
    await client.subscribe('1', "type <> 'temp.a'", [['from', 'first']]);
    await publish('door.e', 'secret.f', 'temp.a', 'last');
    expect(typesOf(await client.messages(4))).toEqual(['door.b', 'temp.c', 'door.e', 'last']);
    await client.barrier();
    expect(client.frames).toEqual([]);
  });

  test('many events arrive in order, without gap or repetition, while more are published', async () => {
    const before = 3000;
    for (let n = 0; n < before; n++) publisher.publish('a', [['n', String(n)]], 'x'.repeat(1000));
    await publisher.barrier();
    await given.until(() => given.log.last() === before);
    const clients = await Promise.all(Array.from({ length: 4 }, () => given.client()));
    await Promise.all(clients.map((client) => client.subscribe('1', '', [['from', 'first']])));
    const during = 3000;
    for (let n = before; n < before + during; n++) publisher.publish('a', [['n', String(n)]], 'x'.repeat(1000));
    for (const client of clients) {
      const messages = await client.messages(before + during);
      expect(messages.map((message) => Number(header(message, 'n')))).toEqual([...Array(before + during).keys()]);
      await client.barrier();
      expect(client.frames).toEqual([]);
    }
  });

  test('a reader that falls behind goes on from the log, and nothing is kept for it or lost', async () => {
    const client = await given.client('default/slow');
    await client.subscribe('1', '', [['from', 'first']]);
    client.socket.pause();
    const events = 8000;
    for (let n = 0; n < events; n++) {
      publisher.publish('a', [['n', String(n)]], 'x'.repeat(3000));
      if (n % 100 === 0) await publisher.barrier();
    }
    await publisher.barrier();
    await given.until(() => given.log.last() === events);
    const queued = given.root.clients().find(({ principal }) => principal === 'default/slow')?.queuedBytes;
    expect(queued).toBeLessThan(4 * 1024 * 1024);
    client.socket.resume();
    const messages = await client.messages(events);
    expect(messages.map((message) => Number(header(message, 'n')))).toEqual([...Array(events).keys()]);
    expect(given.root.metrics.slowDisconnects).toBe(0);
    await publish('live');
    expect(typesOf(await client.messages(1))).toEqual(['live']);
  });

  test('what is no longer in the log is told, if it was asked for by position', async () => {
    await publish('a', 'b', 'c', 'd');
    given.log.prune(3);
    const client = await given.client();
    await client.subscribe('position', '', [['from', '1']]);
    const [marker, rest] = await client.messages(2);
    expect(marker && header(marker, 'type')).toBe('fabric.dropped');
    expect(marker && header(marker, 'dropped')).toBe('2');
    expect(rest && header(rest, 'type')).toBe('d');
    expect(given.root.metrics.expired).toBe(2);
    await client.subscribe('first', '', [['from', 'first']]);
    expect(typesOf(await client.messages(1))).toEqual(['d']);
  });

  test('UNSUBSCRIBE ends it, in whatever state it is', async () => {
    await publish('a');
    const client = await given.client();
    client.send('SUBSCRIBE', [
      ['id', '1'],
      ['destination', '/topic/events'],
      ['from', 'first'],
    ]);
    await client.ask('UNSUBSCRIBE', [['id', '1']]);
    await client.subscribe('2', '', [['from', 'first']]);
    await client.messages(1);
    await client.ask('UNSUBSCRIBE', [['id', '2']]);
    client.frames.length = 0;
    await publish('b');
    await client.barrier();
    expect(client.frames).toEqual([]);
    expect(given.root.subscriptions().subscriptions).toBe(0);
  });

  test('a live replay counts as a subscription like any other', async () => {
    const client = await given.client();
    await client.subscribe('1', "type = 'a'", [['from', 'first']]);
    await given.until(() => given.root.subscriptions().subscriptions === 1);
    await publish('a');
    expect(typesOf(await client.messages(1))).toEqual(['a']);
    expect(given.root.metrics.deliveries).toBe(1);
  });
});
