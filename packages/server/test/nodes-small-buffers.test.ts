import { afterEach, beforeEach, expect, test } from 'vitest';
import { Dealer, Subscriber } from 'zeromq';
import { NODE_LIMITS } from '../src/nodes/limits.js';
import { LeanPublisher, LeanRouter } from '../src/nodes/small-buffers.js';

const LARGE = Buffer.alloc(NODE_LIMITS.connectionBuffer * 100, 'x');

let router: LeanRouter;
let dealer: Dealer;

beforeEach(async () => {
  router = new LeanRouter({ linger: 0 });
  await router.bind('tcp://127.0.0.1:*');
  dealer = new Dealer({ linger: 0 });
  dealer.connect(router.lastEndpoint ?? '');
});

afterEach(() => {
  dealer.close();
  router.close();
});

test('a message larger than the buffer of its connection is received whole', async () => {
  await dealer.send(LARGE);
  const [, message] = await router.receive();
  expect(message?.equals(LARGE)).toBe(true);
});

test('a message larger than the buffer of its connection is sent whole', async () => {
  await dealer.send('hello');
  const [identity] = await router.receive();
  await router.send([identity ?? '', LARGE]);
  const [message] = await dealer.receive();
  expect(message?.equals(LARGE)).toBe(true);
});

test('many small messages at once arrive in order', async () => {
  const sent = Array.from({ length: 200 }, (_, n) => `message ${n}`.padEnd(50));
  for (const message of sent) await dealer.send(message);
  const received: string[] = [];
  while (received.length < sent.length) received.push(String((await router.receive())[1]));
  expect(received).toEqual(sent);
});

test('a broadcast larger than the buffer arrives whole', async () => {
  const publisher = new LeanPublisher({ linger: 0 });
  await publisher.bind('tcp://127.0.0.1:*');
  const subscriber = new Subscriber({ linger: 0 });
  subscriber.connect(publisher.lastEndpoint ?? '');
  subscriber.subscribe();
  try {
    let received: Buffer | undefined;
    const receiving = subscriber.receive().then(([message]) => {
      received = message;
    });
    // Nobody is told when a subscription has arrived; until then a broadcast reaches nobody.
    while (received === undefined) {
      await publisher.send(LARGE);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await receiving;
    expect(received.equals(LARGE)).toBe(true);
  } finally {
    publisher.close();
    subscriber.close();
  }
});
