import { type Frame, header } from '@muster/fabric';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RawClient, told, typesOf } from '../packages/fabric/test/support/raw-client.js';
import { EventTree } from './support/event-tree.js';
import { expectDone, sharedKey } from './support/personas.js';
import { randomOfThisRun } from './support/random.js';
import { SECRET, WRONG_FRAMES, WRONG_OPENINGS } from './support/wrong-frames.js';

let tree: EventTree;
const ports = { root: 0, relay: 0 };
let guest: string;

beforeAll(async () => {
  tree = await EventTree.start();
  const { cluster } = tree;
  ports.root = tree.port;
  ports.relay = (await tree.relay('relay', tree.port)).port;
  const { api } = cluster;
  const { publicKey } = sharedKey();
  expectDone(await api.call('POST', '/users', { body: { name: 'guest', public_key: publicKey } }));
  const body = { user: 'guest', ttl: 3600 };
  guest = (expectDone(await api.call('POST', '/access_tokens', { body })).json as { token: string }).token;
  for (const action of ['publish', 'subscribe']) {
    await cluster.json('event', 'access', 'grant', action, SECRET, '--user', 'admin');
  }
});
afterEach(() => tree.hangUp());
afterAll(() => tree.stop());

describe.each(['root', 'relay'] as const)('at the %s', (place) => {
  const connected = () => tree.client(ports[place]);

  /** Hears and publishes all the time, and is not to be disturbed. */
  async function bystander(): Promise<RawClient> {
    const client = await connected();
    // The server tells admins of its own doings at any time.
    await client.subscribe('1', "type <> 'audit.sealed'");
    return client;
  }

  async function undisturbed(client: RawClient): Promise<void> {
    await client.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'undisturbed'],
    ]);
    expect(typesOf(await client.messages(1))).toEqual(['undisturbed']);
    expect(client.frames).toEqual([]);
  }

  test.each(WRONG_FRAMES.map((row) => [row.wrong, row] as const))(
    '16: %s is answered with an ERROR that names it, and nothing else is disturbed',
    async (_, row) => {
      const other = await bystander();
      const client = tree.connection(ports[place]);
      if (row.guest === true) await client.connect('default/guest', { passcode: guest });
      else await client.connect('default/admin', { passcode: tree.token });
      client.write(row.text);
      const error = await client.error();
      expect(header(error, 'code'), told(error)).toBe(row.code);
      expect(header(error, 'message')).toContain(row.names);
      expect(client.frames).toHaveLength(1);
      await undisturbed(other);
    },
  );

  test.each(WRONG_OPENINGS.map((row) => [row.wrong, row] as const))(
    '16: before the login, %s is answered with an ERROR that names it, and nothing else is disturbed',
    async (_, row) => {
      const other = await bystander();
      const client = tree.connection(ports[place]);
      client.write(row.text);
      const error = await client.error();
      expect(header(error, 'code'), told(error)).toBe(row.code);
      expect(header(error, 'message')).toContain(row.names);
      expect(client.frames).toHaveLength(1);
      await undisturbed(other);
    },
  );

  test('16: frames are the same however their bytes are split and merged', async () => {
    const client = await connected();
    await client.subscribe('1', "type = 'split'");
    const frame = 'SEND\r\ndestination:/topic/events\ntype:split\ntext:a\\cb\\n\ncontent-length:3\n\na\0b\0\n\r\n';
    const once = Buffer.from(frame, 'latin1');
    for (const byte of once) client.socket.write(Buffer.from([byte]));
    client.socket.write(Buffer.concat([once, once, once]));
    const messages = await client.messages(4);
    const seen = (each: Frame) => [header(each, 'text'), Buffer.from(each.body).toString('latin1')];
    expect(messages.map(seen)).toEqual(messages.map(() => ['a:b\n', 'a\0b']));
  });

  test('16: an event of exactly the limit passes, and so does an empty one', async () => {
    const client = await bystander();
    const type = 'type:exact\n';
    client.publish('exact', [], 'x'.repeat(4096 - type.length));
    client.publish('empty');
    const messages = await client.messages(2);
    expect(messages.map(({ body }) => body.length)).toEqual([4096 - type.length, 0]);
  });

  test('16: random bytes, before and after the login, end in an ERROR or nothing, and disturb nobody', async () => {
    const random = randomOfThisRun(`frames at the ${place}`);
    const other = await bystander();
    const bits = ['SEND\n', 'CONNECT\n', 'SUBSCRIBE\n', 'id:1\n', 'destination:/topic/events\n', 'content-length:5\n'];
    const parts = [...bits, '\n', '\0', ':', '\\', '\r', 'x', '\xff', '\n\n', '\0\n'];
    const garbage = () =>
      Array.from({ length: 1 + random.below(40) }, () => parts[random.below(parts.length)]).join('');
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const client = tree.connection(ports[place]);
        if (n % 2 === 0) await client.connect('default/admin', { passcode: tree.token });
        client.write(garbage());
        client.socket.end();
        await client.end();
        const ends = client.frames.filter(({ command }) => command === 'ERROR');
        expect(ends.length).toBeLessThanOrEqual(1);
        for (const each of ends) expect(header(each, 'code')).toMatch(/^(stomp|event|login)_/);
      }),
    );
    expect(other.closed).toBe(false);
    other.frames.splice(0);
    await undisturbed(other);
  });

  test('15: what a selector says of an event with and without an attribute is as in the truth tables, and text that is a number is one (F2)', async () => {
    const rows: readonly (readonly [selector: string, matches: boolean])[] = [
      ['', true],
      ['y = 1', true],
      ['y <> 1', false],
      ['NOT y = 1', false],
      // `x` is missing: unknown, which is never delivered, nor is its negation.
      ['x = 1', false],
      ['x <> 1', false],
      ['NOT x = 1', false],
      ['x IS NULL', true],
      ['x IS NOT NULL', false],
      ['x = 1 OR y = 1', true],
      ['x = 1 OR y = 2', false],
      ['x = 1 AND y = 1', false],
      ['NOT (x = 1 AND y = 1)', false],
      ['NOT (x = 1 AND y = 2)', true],
      ['NOT (x = 1 OR y = 2)', false],
      ['x BETWEEN 0 AND 2 OR y BETWEEN 0 AND 2', true],
      ["x IN ('a') OR name IN ('it''s', 'b')", true],
      ["name LIKE 'it''_'", true],
      ["name NOT LIKE 'it%'", false],
      ['y + x > 0', false],
      ['y * 2 = 2', true],
      ["y = '1'", true],
    ];
    const client = await connected();
    for (const [n, [selector]] of rows.entries()) {
      const narrowed = selector === '' ? '' : `type = 'truth' AND (${selector})`;
      await client.subscribe(String(n), narrowed);
    }
    client.publish('truth', [
      ['y', '1'],
      ['name', "it's"],
    ]);
    const expected = rows.filter(([, matches]) => matches).map(([selector]) => selector);
    // Who asks for everything may also hear what the server tells admins.
    const messages: Frame[] = [];
    while (messages.length < expected.length) {
      const [message] = await client.messages(1);
      if (message !== undefined && typesOf([message])[0] === 'truth') messages.push(message);
    }
    const heard = messages.map((each) => rows[Number(header(each, 'subscription'))]?.[0]);
    expect(heard.sort()).toEqual(expected.sort());
    await client.barrier();
    expect(client.frames.filter((frame) => header(frame, 'type') !== 'audit.sealed')).toEqual([]);
  });

  test('15: a selector of exactly the limit is taken, whatever is random is taken or refused, and nobody is disturbed', async () => {
    const random = randomOfThisRun(`selectors at the ${place}`);
    const other = await bystander();
    const client = await connected();
    await client.subscribe('long', `type <> '${'x'.repeat(4072 - "type <> ''".length)}'`);
    const words = ['a', "'b'", '1', '-2.5', '=', '<>', '<', 'AND', 'OR', 'NOT', '(', ')', 'IN', 'LIKE', 'IS NULL', ','];
    const ends = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const asking = await connected();
        const selector = Array.from({ length: 1 + random.below(12) }, () => words[random.below(words.length)]).join(
          ' ',
        );
        asking.send('SUBSCRIBE', [
          ['id', '1'],
          ['destination', '/topic/events'],
          ['selector', selector],
          ['receipt', 'r'],
        ]);
        const answer = await asking.next();
        return answer.command === 'RECEIPT' ? 'taken' : header(answer, 'code');
      }),
    );
    expect(new Set(ends.filter((end) => end !== 'taken'))).toEqual(new Set(['event_selector']));
    await undisturbed(other);
  });
});
