import type { Broker, Limits } from '@muster/broker';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Hands, type Harness, SOON, until } from './conformance/suite.js';
import { rabbitmq } from './rabbitmq.js';
import { type ScratchNode, scratchNode, tellLogOfFailures } from './scratch-node.js';

/**
 * A broker that takes back what is not acknowledged in time, and messages that are in hand five times as long. `npm run holds`
 * does the same with a minute and five.
 */
const HOLD_MS = Number(process.env.MUSTER_TEST_HOLD_MS ?? 10_000);
const TIMEOUT_MS = HOLD_MS / 5;
const LIMITS: Partial<Limits> = { ...SOON, holdMs: TIMEOUT_MS / 4 };
const MOST_MS = HOLD_MS + 60_000;

const queue = 'aloe.jobq.test.submit.Holds';
const topology = { exchanges: [], queues: [{ name: queue, kind: 'quorum' as const }], bindings: [] };

let node: ScratchNode;
beforeAll(async () => {
  node = await scratchNode({ consumer_timeout: TIMEOUT_MS, channel_tick_interval: Math.min(TIMEOUT_MS / 2, 60_000) });
});
afterAll(() => node.drop());
tellLogOfFailures(() => node);

let harness: Harness;
let warnings: string[];
beforeEach(async () => {
  warnings = [];
  const warn = (detail: object, text: string): void =>
    void warnings.push(`${text}: ${Object.values(detail).map(String)}`);
  harness = await rabbitmq(node.url, { info: () => {}, warn, error: warn });
});
afterEach(() => harness.drop());

const opened = async (name: string, limits = LIMITS): Promise<Broker> => {
  const broker = await harness.open(name, limits);
  await broker.declare(topology);
  return broker;
};
const send = (broker: Broker, id: string) => broker.publish({ exchange: '', key: queue, body: id, id });
/** The broker's patience, over and over: real time, for it is the broker's. */
const holding = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, HOLD_MS));
/** Neither waiting nor in hand. */
async function nothingLeft(): Promise<boolean> {
  const counts = await node.ctl('list_queues', '--no-table-headers', 'messages');
  return counts.split('\n').every((count) => Number(count) === 0);
}
const closedByTimeLimit = (): boolean => warnings.some((text) => text.includes('delivery acknowledgement'));

describe('a message that is in hand for five times as long as the broker allows', () => {
  test('is delivered once, to nobody else, and takes up the slot that it has', { timeout: MOST_MS }, async () => {
    const [one, two] = [await opened('one'), await opened('two')];
    const [first, second] = [new Hands(), new Hands()];
    one.consume(queue, { slots: 3, held: true }, first.take);
    for (const id of ['1', '2', '3']) await send(one, id);
    await first.nth(3);
    two.consume(queue, { slots: 1, held: true }, second.take);
    // Something is always waiting: a slot that seemed free would take it.
    for (const id of ['4', '5']) await send(one, id);
    await second.nth(1);
    await holding();
    expect(first.texts.sort()).toEqual(['1', '2', '3']);
    expect(second.texts).toEqual(['4']);
    expect(closedByTimeLimit()).toBe(false);
    for (const delivery of first.deliveries.slice(0, 3)) expect(await delivery.ack()).toBe('settled');
    expect((await first.nth(4)).body.toString()).toBe('5');
    await (await first.nth(4)).ack();
    await (await second.nth(1)).ack();
    await Promise.all([one.close(), two.close()]);
    expect(await (await opened('three')).depths([queue])).toMatchObject([{ ready: 0 }]);
  });

  test('goes to another as soon as its process is killed', { timeout: MOST_MS }, async () => {
    const [one, two] = [await opened('one'), await opened('two')];
    const [first, second] = [new Hands(), new Hands()];
    one.consume(queue, { slots: 1, held: true }, first.take);
    await send(one, 'killed');
    await first.nth(1);
    await holding();
    two.consume(queue, { slots: 1, held: true }, second.take);
    await harness.kill(one);
    const begun = performance.now();
    const again = await second.nth(1);
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect([again.id, again.redelivered, again.death]).toEqual(['killed', true, null]);
    expect(await again.ack()).toBe('settled');
  });

  test('can be rejected, and given back', { timeout: MOST_MS }, async () => {
    const one = await opened('one');
    const hands = new Hands();
    const dead = { name: 'aloe.jobq.test.dead', kind: 'quorum' as const };
    const exchange = { name: 'aloe.jobq.test.dead.Exchange', type: 'fanout' as const };
    const own = { name: `${queue}.rejecting`, kind: 'quorum' as const, deadLetter: exchange.name };
    await one.declare({
      exchanges: [exchange],
      queues: [dead, own],
      bindings: [{ exchange: exchange.name, queue: dead.name, key: '' }],
    });
    one.consume(own.name, { slots: 2, held: true }, hands.take);
    await one.publish({ exchange: '', key: own.name, body: 'bad', id: 'bad' });
    await one.publish({ exchange: '', key: own.name, body: 'back', id: 'back' });
    await hands.nth(2);
    await holding();
    const [bad, back] = hands.deliveries;
    expect(await bad?.reject()).toBe('settled');
    expect(await back?.requeue()).toBe('settled');
    expect((await hands.nth(3)).id).toBe('back');
    await (await hands.nth(3)).ack();
    const letters = new Hands();
    one.consume(dead.name, { slots: 1 }, letters.take);
    const letter = await letters.nth(1);
    expect(letter).toMatchObject({ id: 'bad', key: own.name, death: { queue: own.name, reason: 'rejected' } });
    await letter.ack();
  });
});

describe('a broker that allows less than is held by default', () => {
  test('takes it back once: it is renewed in time from then on', { timeout: 3 * MOST_MS }, async () => {
    const one = await opened('one', SOON);
    const hands = new Hands();
    one.consume(queue, { slots: 2, held: true }, hands.take);
    await send(one, 'held');
    await hands.nth(1);
    await until(closedByTimeLimit, MOST_MS);
    const closed = warnings.length;
    await holding();
    expect(warnings.slice(closed)).toEqual([]);
    expect(hands.texts).toEqual(['held']);
    expect(await (await hands.nth(1)).ack()).toBe('settled');
    await one.close();
    expect(await (await opened('three')).depths([queue])).toMatchObject([{ ready: 0 }]);
  });
});

describe('without renewal', () => {
  const late = { ...LIMITS, holdMs: 3_600_000 };

  test('the broker takes it back, and another process gets it', { timeout: MOST_MS }, async () => {
    const [one, two] = [await opened('one', late), await opened('two', late)];
    const [first, second] = [new Hands(), new Hands()];
    one.consume(queue, { slots: 1, held: true }, first.take);
    await send(one, 'taken');
    const taken = await first.nth(1);
    two.consume(queue, { slots: 1, held: true }, second.take);
    await until(() => second.deliveries.length === 1, MOST_MS);
    expect(closedByTimeLimit()).toBe(true);
    // Which the lease of its job decides: it is handed back.
    expect(await (await second.nth(1)).handOver(one.holder)).toBe('settled');
    await taken.ack();
    // What was handed over may still be on its way to one; whoever closes before it comes leaves it to others.
    await until(nothingLeft);
    await Promise.all([one.close(), two.close()]);
    expect(await (await opened('three')).depths([queue])).toMatchObject([{ ready: 0 }]);
  });

  test('it comes back to the same process, which does not begin it again', { timeout: MOST_MS }, async () => {
    const one = await opened('one', late);
    const hands = new Hands();
    one.consume(queue, { slots: 2, held: true }, hands.take);
    await send(one, 'mine');
    const mine = await hands.nth(1);
    await until(closedByTimeLimit, MOST_MS);
    await send(one, 'next');
    await (await hands.nth(2)).ack();
    await until(async () => (await one.depths([queue]))[0]?.ready === 0);
    expect(hands.texts).toEqual(['mine', 'next']);
    await mine.ack();
    await one.close();
    expect(await (await opened('three')).depths([queue])).toMatchObject([{ ready: 0 }]);
  });
});
