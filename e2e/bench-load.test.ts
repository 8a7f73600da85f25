import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';

// The load generator is plain JavaScript, without types.
const load = (file: string) => import(new URL(`../bench/${file}`, import.meta.url).href);

/** What the server keeps for a client that does not read before it cuts it: default of `events.outlet_bytes`. */
const CUT_BYTES = 8 * 1024 * 1024;
const EVENT_BYTES = 600;
const CREDENTIALS = { login: 'default/admin', passcode: 'x' };

let server: Server;
let port: number;
const sockets = new Set<Socket>();

beforeEach(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.once('data', () => socket.write('CONNECTED\nversion:1.2\n\n\0'));
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});

afterEach(async () => {
  server.close();
  for (const socket of sockets) socket.destroy();
  await once(server, 'close');
});

test('the publisher of a benchmark waits for the slowest reader before any server would cut it', async () => {
  const { Publisher } = await load('fabric-publisher.mjs');
  const { stomp } = await load('fabric-wire.mjs');
  const event = { ...stomp.event({ type: 'bench.x' }, EVENT_BYTES), fanout: 2 };
  const read = { fast: 0, slow: 0 };
  const reader = (name: 'fast' | 'slow') => ({
    copies: 1,
    pending: ([published = 0]: number[]) => published - read[name],
  });
  const progress = { received: 0 };
  const publisher = new Publisher(stomp, [event], [reader('fast'), reader('slow')], progress);
  await publisher.open(port, CREDENTIALS);
  const publishAll = async () => {
    for (let before = -1; publisher.events > before; ) {
      before = publisher.events;
      read.fast = publisher.events;
      progress.received = read.fast + read.slow;
      // The server has taken what was written.
      await new Promise((written) => publisher.socket.write('\n', written));
      publisher.advance();
    }
    return publisher.events;
  };
  // So many that without waiting for the slow one all of its 80 MB would be published.
  publisher.flood(100_000);
  const first = await publishAll();
  expect(first).toBeGreaterThan(1000);
  expect(first * event.bytes.length).toBeLessThan(CUT_BYTES);
  read.slow = 1000;
  expect(await publishAll()).toBe(first + 1000);
});
