import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  Client,
  connect as Connect,
  signEvent as SignEvent,
  verifyEvent as VerifyEvent,
} from '@muster/fabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
const BROWSER_ENTRY = resolve(DIST, 'client/index.js');

/** Everything that the file imports, directly or not. */
function reached(from: string, seen = new Set<string>()): Set<string> {
  if (seen.has(from)) return seen;
  seen.add(from);
  for (const [, name = ''] of readFileSync(from, 'utf8').matchAll(/(?:from|import) '([^']+)'/g)) {
    if (name.startsWith('.')) reached(resolve(dirname(from), name), seen);
    else if (name.startsWith('@muster/')) reached(createRequire(from).resolve(name), seen);
    else seen.add(name);
  }
  return seen;
}

describe('the client for browsers', () => {
  it('needs nothing that only Node has', () => {
    const files = [...reached(BROWSER_ENTRY)];
    expect(files.filter((file) => !file.endsWith('.js'))).toEqual([]);
    expect(files.length).toBeGreaterThan(15);
  });

  it('is what everybody gets but Node', () => {
    const { exports } = JSON.parse(readFileSync(resolve(DIST, '../package.json'), 'utf8'));
    expect(resolve(DIST, '..', exports['./client'].default)).toBe(BROWSER_ENTRY);
  });
});

describe('in a browser', () => {
  const { Buffer: ofNode } = globalThis;
  let connect: typeof Connect;
  let signEvent: typeof SignEvent;
  let verifyEvent: typeof VerifyEvent;
  let url = '';
  let close: () => Promise<void>;
  let drop: () => void;
  const clients: Client[] = [];

  beforeAll(async () => {
    // There is no Buffer when the library is loaded, and the WebSocket is the browser's.
    Object.assign(globalThis, { Buffer: undefined });
    ({ connect, signEvent, verifyEvent } = await import(BROWSER_ENTRY));
    Object.assign(globalThis, { Buffer: ofNode, WebSocket });
    const { FakeServer } = await import('./support.js');
    const server = await new FakeServer('ws://127.0.0.1:0/events').listen();
    server.habits.echoes = true;
    ({ url } = server);
    close = () => server.die();
    drop = () => server.peer.channel.destroy();
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await close();
    Reflect.deleteProperty(globalThis, 'WebSocket');
  });

  function connected(options: Partial<Parameters<typeof Connect>[0]> = {}): Client {
    const client = connect({ url, login: 'acme/ada', passcode: 'secret', ...options });
    clients.push(client);
    return client;
  }

  it('events are published and followed', async () => {
    const client = connected();
    const subscription = client.subscribe();
    await subscription.ready;
    await client.publish({ type: 'temp.high', attributes: [['place', 'Zürich']], body: 'höt', sign: 'key' });
    const { value } = await subscription.next();
    expect([value?.type, value?.get('place'), value?.text()]).toEqual(['temp.high', 'Zürich', 'höt']);
    expect(value?.body()).not.toBeInstanceOf(ofNode);
  });

  it('what is not read waits, and is read later', async () => {
    const client = connected();
    const subscription = client.subscribe({ keep: 2 });
    await subscription.ready;
    for (let index = 0; index < 50; index++) await client.publishNow({ type: 'a', body: String(index) });
    const got: (string | undefined)[] = [];
    while (got.length < 50) got.push((await subscription.next()).value?.text());
    expect(got.at(-1)).toBe('49');
    await subscription.unsubscribe();
  });

  it('a lost connection is found again', async () => {
    const states: string[] = [];
    let found = () => {};
    const again = new Promise<void>((done) => {
      found = done;
    });
    const client = connected({
      reconnect: { minMs: 1, maxMs: 1 },
      onStatus: ({ state }) => {
        states.push(state);
        if (states.filter((each) => each === 'connected').length === 2) found();
      },
    });
    await client.ready();
    drop();
    await again;
    expect(states).toEqual(['connecting', 'connected', 'lost', 'connecting', 'connected']);
  });

  describe('with a page that came over plain HTTP', () => {
    const ofNodeToo = globalThis.crypto;
    beforeAll(() => {
      const getRandomValues = (bytes: Uint8Array<ArrayBuffer>) => ofNodeToo.getRandomValues(bytes);
      Object.defineProperty(globalThis, 'crypto', { value: { getRandomValues }, configurable: true });
    });
    afterAll(() => {
      Object.defineProperty(globalThis, 'crypto', { value: ofNodeToo, configurable: true });
    });

    it('commands are asked and completed', async () => {
      const client = connected();
      const commands = client.subscribe({ selector: "type = 'reboot'" });
      await commands.ready;
      const answering = (async () => {
        const { value } = await commands.next();
        if (value !== undefined) await client.complete(value, 3);
      })();
      const { error, message } = await client.request({ type: 'reboot' }, { timeoutMs: 60_000 });
      await answering;
      expect([error, message.get('token')]).toEqual([3, expect.stringMatching(/^[0-9a-f]{32}$/)]);
    });

    it('signatures say where browsers offer them', async () => {
      const client = connected();
      await client.ready();
      const refused = { code: 'fabric_insecure_page', message: expect.stringContaining('https:// or localhost') };
      await expect(client.publish({ type: 'a', sign: 'key' })).rejects.toMatchObject(refused);
      expect(() => client.subscribe({ verify: 'key' })).toThrow(expect.objectContaining(refused));
      await expect(signEvent([], new Uint8Array(0), 'key')).rejects.toMatchObject(refused);
      await expect(verifyEvent([], new Uint8Array(0), 'key')).rejects.toMatchObject(refused);
    });
  });

  it('only WebSockets can be reached, and TLS is the browser’s business', async () => {
    await expect(connected({ url: 'stomp://127.0.0.1:1' }).ready()).rejects.toThrow('only ws:// and wss://');
    await expect(connected({ tls: { verify: false } }).ready()).rejects.toThrow('browsers decide themselves');
  });

  it('where nobody listens, connecting fails', async () => {
    await expect(connected({ url: 'ws://127.0.0.1:1/', retries: 0 }).ready()).rejects.toMatchObject({
      code: 'fabric_unreachable',
    });
  });
});
