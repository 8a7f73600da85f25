import { describe, expect, test } from 'vitest';
import { describeBroker } from './conformance/index.js';
import { createSuite, Hands, until } from './conformance/suite.js';
import { rabbitmq } from './rabbitmq.js';

describeBroker('rabbitmq', () => rabbitmq());

describe('several processes that take from one queue of RabbitMQ', () => {
  const suite = createSuite(() => rabbitmq());

  test('have equally much in hand, whoever was there first', async () => {
    const { queue } = suite.names;
    const [one, two] = [new Hands(), new Hands()];
    suite.broker.consume(queue, { slots: 20 }, one.take);
    (await suite.another()).consume(queue, { slots: 10 }, two.take);
    await until(async () => (await suite.harness.consumers?.(queue)) === 30);
    for (const text of ['1', '2', '3', '4', '5', '6', '7', '8']) await suite.send(text);
    await until(() => one.deliveries.length + two.deliveries.length === 8);
    expect([one.deliveries.length, two.deliveries.length]).toEqual([4, 4]);
    // Who is done with some is given the next ones.
    for (const delivery of two.deliveries.slice(0, 3)) await delivery.ack();
    for (const text of ['9', '10', '11']) await suite.send(text);
    await until(() => one.deliveries.length + two.deliveries.length === 11);
    expect(two.deliveries.length).toBe(7);
  });
});
