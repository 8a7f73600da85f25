import type { Broker } from '@muster/broker';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Hands, type Harness, SOON, topologyOf, until } from './conformance/suite.js';
import { rabbitmq } from './rabbitmq.js';
import { CLOSE_ALL_CHANNELS, type ScratchNode, scratchNode, tellLogOfFailures } from './scratch-node.js';

/** What a RabbitMQ of its own goes through; what nobody awaits and fails ends the run, as it would end a server. */
let node: ScratchNode;
beforeAll(async () => {
  node = await scratchNode();
});
afterAll(() => node.drop());
tellLogOfFailures(() => node);

const PUBLISH_MS = 2_000;
/** Twice the heartbeat, and what the machine needs. */
const NOTICED_MS = 10_000;
/** What is bounded takes less, on a busy machine, too. */
const BUSY_MS = 15_000;

const connections = async () => (await node.ctl('list_connections', 'pid')).split('\n').sort();

let harness: Harness;
let broker: Broker;
let round = 0;
let names: Parameters<typeof topologyOf>[0];
/** Held by the first slot all the time. */
let kept: Hands;
/** All that was handled by the others. */
let handled: string[];

beforeEach(async () => {
  harness = await rabbitmq(node.url);
  round += 1;
  const own = `faults.${round}`;
  names = { queue: own, exchange: `${own}.x`, topics: `${own}.t`, alternate: `${own}.alt`, dead: `${own}.dead` };
  broker = await harness.open('one', { ...SOON, publishMs: PUBLISH_MS, heartbeatSeconds: 1, connectMs: 1_000 });
  await broker.declare(topologyOf(names));
  kept = new Hands();
  handled = [];
  broker.consume(names.queue, { slots: 4, held: true }, async (delivery) => {
    if (delivery.id === 'kept') return kept.take(delivery);
    handled.push(delivery.id);
    await delivery.ack();
  });
  await send('kept');
  await kept.nth(1);
});
afterEach(() => harness.drop());

const send = (id: string) => broker.publish({ exchange: names.exchange, key: names.queue, body: id, id });

/** How long it took to be refused, and as what. */
async function refusal(id: string): Promise<{ ms: number; code: unknown; reason: string }> {
  const begun = performance.now();
  try {
    await send(id);
    throw new Error('it was taken');
  } catch (error) {
    const { code, details } = error as { code?: unknown; details?: { reason: string } };
    return { ms: performance.now() - begun, code, reason: details?.reason ?? String(error) };
  }
}

async function sentAtLast(id: string): Promise<void> {
  await until(async () =>
    send(id).then(
      () => true,
      () => false,
    ),
  );
}

/** All goes on: what is published is handled, what is in hand is in hand once, and gone when it is acknowledged. */
async function goesOn(): Promise<void> {
  await sentAtLast('after');
  await until(() => handled.includes('after'));
  expect(kept.deliveries).toHaveLength(1);
  expect(broker.status()).toMatchObject({ connected: true, why: null });
  // Free slots get what the broker has taken back.
  await until(async () => (await broker.depths([names.queue]))[0]?.ready === 0);
  await (await kept.nth(1)).ack();
  await until(async () => (await broker.depths([names.queue]))[0]?.ready === 0);
  await broker.close();
  const two = await harness.open('two', SOON);
  expect(await two.depths([names.queue])).toMatchObject([{ ready: 0 }]);
}

/** What is published while RabbitMQ is told this: each is confirmed or refused. @returns those that were confirmed */
async function sentMeanwhile(time: number, ...words: readonly string[]): Promise<string[]> {
  const sent: string[] = [];
  const publishing = Promise.allSettled(
    Array.from({ length: 50 }, async (_, index) => {
      const id = `${time}.${index}`;
      await send(id);
      sent.push(id);
    }),
  );
  await node.ctl(...words);
  for (const end of await publishing) if (end.status === 'rejected') expect(end.reason.code).toBe('broker_unavailable');
  await sentAtLast(`again ${time}`);
  return sent;
}

/** What a subscription hears, once it does. */
async function hearing(): Promise<readonly unknown[]> {
  const heard: unknown[] = [];
  broker.subscribe(
    { name: `${names.topics}.job`, exchange: names.topics, keys: ['x'] },
    (told) => void heard.push(told),
  );
  await until(() => heard.length === 1);
  return heard;
}

describe('a broker, rabbitmq', () => {
  test('goes on after all connections were closed by force, again and again', async () => {
    const sent: string[] = [];
    for (let time = 0; time < 3; time++) {
      sent.push(...(await sentMeanwhile(time, 'close_all_connections', 'by a test')));
    }
    await until(() => sent.every((id) => handled.includes(id)));
    await goesOn();
  });

  test('goes on after all channels were closed by force, again and again, and keeps its connections', async () => {
    const heard = await hearing();
    const before = await connections();
    const sent: string[] = [];
    for (let time = 0; time < 3; time++) {
      const told = heard.length;
      sent.push(...(await sentMeanwhile(time, 'eval', CLOSE_ALL_CHANNELS)));
      // Some commands may have been missed: that is told each time that it hears again.
      await until(() => heard.length > told);
    }
    await until(() => sent.every((id) => handled.includes(id)));
    expect(await connections()).toEqual(before);
    await goesOn();
  });

  test('refuses at once while RabbitMQ is stopped, says since when and why, and goes on after it', async () => {
    const heard = await hearing();
    const before = Date.now();
    await node.ctl('stop_app');
    await until(() => !broker.status().connected);
    const refused = await refusal('stopped');
    expect(refused).toMatchObject({ code: 'broker_unavailable' });
    expect(refused.ms).toBeLessThan(PUBLISH_MS);
    const { since, why } = broker.status();
    expect(since).toBeGreaterThanOrEqual(before);
    expect(why).toMatch(/./);
    await expect(broker.declare(topologyOf(names))).rejects.toMatchObject({ code: 'broker_unavailable' });
    await expect(broker.depths([names.queue])).rejects.toMatchObject({ code: 'broker_unavailable' });
    await node.ctl('start_app');
    // Some commands may have been missed.
    await until(() => heard.length === 2);
    await until(() => broker.status().connected);
    await broker.publish({ exchange: names.topics, key: 'x', body: 'heard' });
    await until(() => heard.length === 3);
    await goesOn();
  });

  test('keeps what it confirmed through kill -9', async () => {
    // RabbitMQ takes its time to write down which queues there are; a quorum queue that it has forgotten gets no leader again.
    await node.ctl('eval', 'mnesia:sync_log().');
    const confirmed: string[] = [];
    const publishing = Promise.allSettled(
      Array.from({ length: 300 }, async (_, index) => {
        const id = String(index);
        await broker.publish({ exchange: names.exchange, key: 'nobody', body: id, id });
        confirmed.push(id);
      }),
    );
    await until(() => confirmed.length > 50);
    node.signal('SIGKILL');
    await publishing;
    await node.start();
    const found = new Set<string>();
    broker.consume(names.alternate, { slots: 10 }, async (delivery) => {
      found.add(delivery.id);
      await delivery.ack();
    });
    await until(() => confirmed.every((id) => found.has(id)));
    await goesOn();
  });

  for (const [what, begin, end] of [
    ['disk', ['set_disk_free_limit', '999999GB'], ['set_disk_free_limit', '50MB']],
    ['memory', ['set_vm_memory_high_watermark', '0.00001'], ['set_vm_memory_high_watermark', '0.4']],
  ] as const) {
    test(`refuses at once while RabbitMQ has an alarm for its ${what}, and lets go on what is in hand`, async () => {
      await send('early');
      await node.ctl(...begin);
      try {
        // The first that is published brings the alarm here.
        const first = await refusal('first');
        expect(first).toMatchObject({ code: 'broker_unavailable', reason: expect.stringContaining(what) });
        expect(first.ms).toBeLessThan(BUSY_MS);
        const second = await refusal('second');
        expect(second.ms).toBeLessThan(PUBLISH_MS);
        expect(broker.status()).toMatchObject({ connected: false, why: expect.stringContaining(what) });
        // Consumers are not concerned.
        await until(() => handled.includes('early'));
        expect(await broker.depths([names.queue])).toMatchObject([{ ready: 0 }]);
      } finally {
        await node.ctl(...end);
      }
      await until(() => broker.status().connected);
      await goesOn();
    });
  }

  test('refuses in bounded time while RabbitMQ hangs, and goes on after it', async () => {
    node.signal('SIGSTOP');
    try {
      const first = await refusal('first');
      expect(first).toMatchObject({ code: 'broker_unavailable' });
      expect(first.ms).toBeLessThan(BUSY_MS);
      await until(() => !broker.status().connected, NOTICED_MS);
      const second = await refusal('second');
      expect(second.ms).toBeLessThan(PUBLISH_MS);
    } finally {
      node.signal('SIGCONT');
    }
    await goesOn();
  });

  test('closes in bounded time while RabbitMQ hangs', async () => {
    node.signal('SIGSTOP');
    try {
      const begun = performance.now();
      await broker.close();
      expect(performance.now() - begun).toBeLessThan(BUSY_MS);
    } finally {
      node.signal('SIGCONT');
    }
  });

  test('that is not there when it is opened is connected to later', async () => {
    await node.ctl('stop_app');
    const begun = performance.now();
    const late = await harness.open('late', { ...SOON, connectMs: 1_000 });
    expect(performance.now() - begun).toBeLessThan(BUSY_MS);
    expect(late.status().connected).toBe(false);
    await expect(late.declare(topologyOf(names))).rejects.toMatchObject({ code: 'broker_unavailable' });
    const hands = new Hands();
    late.consume(names.dead, { slots: 1 }, hands.take);
    await node.ctl('start_app');
    await until(() => late.status().connected);
    await late.publish({ exchange: '', key: names.dead, body: 'x' });
    await hands.nth(1);
  });
});
