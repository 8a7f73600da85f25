import { header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
beforeEach(async () => {
  given = await RootFixture.start();
});
afterEach(() => given.end());

describe('events through the root', () => {
  test('an event reaches who selected it and nobody else (B-4)', async () => {
    const [hot, cold, publisher] = await Promise.all([given.client(), given.client(), given.client()]);
    await hot.subscribe('1', 'celsius > 80');
    await cold.subscribe('1', 'celsius < 10');
    await publisher.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'temp'],
      ['celsius', '81'],
    ]);
    expect(typesOf(await hot.messages(1))).toEqual(['temp']);
    await cold.barrier();
    expect(cold.frames).toEqual([]);
  });

  test('the empty selector, and none, match everything', async () => {
    const client = await given.client();
    await client.subscribe('none');
    await client.ask('SUBSCRIBE', [
      ['id', 'empty'],
      ['destination', '/topic/events'],
      ['selector', ''],
    ]);
    client.publish('a');
    const subscriptions = (await client.messages(2)).map((message) => header(message, 'subscription'));
    expect(subscriptions.sort()).toEqual(['empty', 'none']);
  });

  test('who publishes hears of it, too (F3, O-1, B-9)', async () => {
    const client = await given.client();
    await client.subscribe('1');
    client.publish('a');
    expect(typesOf(await client.messages(1))).toEqual(['a']);
  });

  test('an event comes once for each subscription it matches (B-10, O-8)', async () => {
    const client = await given.client();
    await client.subscribe('1', "type = 'a'");
    await client.subscribe('2', 'n > 5');
    await client.subscribe('3', 'n > 50');
    client.publish('a', [['n', '7']]);
    const subscriptions = (await client.messages(2)).map((message) => header(message, 'subscription'));
    expect(subscriptions.sort()).toEqual(['1', '2']);
    await client.barrier();
    expect(client.frames).toEqual([]);
  });

  test('the same selector of two clients is two subscriptions; ending one leaves the other (B-3)', async () => {
    const [one, other] = await Promise.all([given.client(), given.client()]);
    await one.subscribe('1', "type = 'a'");
    await other.subscribe('1', "type = 'a'");
    expect(given.root.subscriptions()).toMatchObject({ subscriptions: 2, expressions: 1 });
    await one.ask('UNSUBSCRIBE', [['id', '1']]);
    other.publish('a');
    expect(await other.messages(1)).toHaveLength(1);
    await one.barrier();
    expect(one.frames).toEqual([]);
  });

  test('attributes and body arrive byte for byte and in order, whatever stands between them (D-4)', async () => {
    const client = await given.client();
    await client.subscribe('1');
    const body = Buffer.from([0, 1, 2, 10, 0, 255, 13, 10, 0]).toString('latin1');
    client.write(
      'SEND\nzeta:1:with:colons\ndestination:/topic/events\ntype:a.b-c_D9\nalpha:\\n\\c\\\\\\r\nzeta:again\n' +
        `transactional: blanks stay \nunicode:\xc3\xa4\xe2\x82\xac\ncontent-type:text/plain\ncontent-length:${body.length}\n\n${body}\0`,
    );
    await client.messages(1);
    const sent =
      'zeta:1:with:colons\ntype:a.b-c_D9\nalpha:\\n\\c\\\\\\r\nzeta:again\ntransactional: blanks stay \n' +
      `unicode:\xc3\xa4\xe2\x82\xac\ncontent-type:text/plain\ncontent-length:${body.length}\n\n${body}\0`;
    expect(client.text.endsWith(`Z\n${sent}`)).toBe(true);
  });

  test('a MESSAGE says position, organization, source, its kind and time', async () => {
    const client = await given.client('default/alice');
    await client.subscribe('7');
    client.publish('a', [['x', 'y']], 'hello');
    const [message] = await client.messages(1);
    expect(message?.headers).toEqual([
      ['subscription', '7'],
      ['destination', '/topic/events'],
      ['message-id', String(given.log.last())],
      ['org', 'default'],
      ['source', 'default/alice'],
      ['source-kind', 'node'],
      ['time', expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)],
      ['type', 'a'],
      ['x', 'y'],
      ['content-length', '5'],
    ]);
    expect(Buffer.from(message?.body ?? []).toString()).toBe('hello');
  });

  test('selectors see source, time and type as well as attributes', async () => {
    const [client, alice] = await Promise.all([given.client(), given.client('default/alice')]);
    await client.subscribe('1', "source = 'default/alice' AND type LIKE 'b.%' AND n = 5.0");
    await client.subscribe(
      '2',
      "source = 'default/alice' AND \"source-kind\" = 'node' AND time LIKE '20%' AND org = 'default' AND n = 5.0",
    );
    client.publish('a.b', [['n', '5']]);
    alice.publish('a.b', [['n', '5']]);
    const messages = await client.messages(1);
    expect(messages.map((message) => header(message, 'subscription'))).toEqual(['2']);
  });

  test('an event without a body, and one without content-length, are events', async () => {
    const client = await given.client();
    await client.subscribe('1');
    client.write('SEND\ndestination:/topic/events\ntype:a\n\n\0\n\nSEND\ndestination:/topic/events\ntype:b\n\nbody\0');
    const messages = await client.messages(2);
    expect(messages.map(({ body }) => Buffer.from(body).toString())).toEqual(['', 'body']);
  });

  test('nobody hears of events of another organization', async () => {
    const [mine, theirs] = await Promise.all([given.client('default/alice'), given.client('other/bob')]);
    await mine.subscribe('1');
    await theirs.subscribe('1');
    mine.publish('mine');
    theirs.publish('theirs');
    expect(typesOf(await mine.messages(1))).toEqual(['mine']);
    expect(typesOf(await theirs.messages(1))).toEqual(['theirs']);
    await Promise.all([mine.barrier(), theirs.barrier()]);
    expect([...mine.frames, ...theirs.frames]).toEqual([]);
  });

  test('events of one publisher keep their order (O-16)', async () => {
    const [client, publisher] = await Promise.all([given.client(), given.client()]);
    await client.subscribe('1', 'n >= 0');
    for (let n = 0; n < 5000; n++) publisher.publish('a', [['n', String(n)]]);
    const messages = await client.messages(5000);
    expect(messages.map((message) => Number(header(message, 'n')))).toEqual([...Array(5000).keys()]);
    expect(new Set(messages.map((message) => header(message, 'message-id'))).size).toBe(5000);
  });

  test('everything published in one turn of the loop is one append to the log', async () => {
    const publisher = await given.client();
    publisher.socket.cork();
    for (let n = 0; n < 100; n++) publisher.publish('a');
    publisher.socket.uncork();
    await publisher.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'last'],
    ]);
    expect(given.log.appends.reduce((sum, each) => sum + each, 0)).toBe(101);
    expect(given.log.appends.length).toBeLessThan(5);
  });

  test('a client that goes away takes its subscriptions along, and nobody else notices (R-11)', async () => {
    const [gone, stays] = await Promise.all([given.client(), given.client()]);
    await gone.subscribe('1');
    await stays.subscribe('1');
    gone.socket.destroy();
    await gone.end();
    stays.publish('a');
    expect(typesOf(await stays.messages(1))).toEqual(['a']);
    expect(given.root.subscriptions().subscriptions).toBe(1);
    expect(given.root.clients()).toHaveLength(1);
  });
});
