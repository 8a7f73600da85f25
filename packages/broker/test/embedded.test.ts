import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeBroker } from './conformance/index.js';
import { Hands, type Harness, topologyOf } from './conformance/suite.js';
import { embedded } from './embedded.js';

describeBroker('embedded', () => embedded());

describe('a broker, embedded, of the only process', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await embedded({ alone: true });
  });
  afterEach(() => harness.drop());

  test('hands over to nobody: a process of before does not come again', async () => {
    const broker = await harness.open('one');
    const queue = 'only';
    await broker.declare(topologyOf({ queue, exchange: 'x', topics: 't', alternate: 'alt', dead: 'dead' }));
    const hands = new Hands();
    broker.consume(queue, { slots: 1, held: true }, hands.take);
    await broker.publish({ exchange: 'x', key: queue, body: '1' });
    const delivery = await hands.nth(1);
    expect(await delivery.handOver('before')).toBe('refused');
    expect(await delivery.ack()).toBe('settled');
  });
});
