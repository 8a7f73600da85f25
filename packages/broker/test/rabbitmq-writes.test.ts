import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { systemClock } from '@muster/base';
import { RabbitBroker } from '@muster/broker';
import { afterEach, expect, test, vi } from 'vitest';
import { SOON, silent, topologyOf, until } from './conformance/suite.js';
import { RABBITMQ_URL, rabbitmq } from './rabbitmq.js';

const MESSAGES = 50;

afterEach(() => vi.restoreAllMocks());

test('messages that are published in one turn leave in one write, and each is confirmed', async () => {
  const harness = await rabbitmq();
  const own = `writes.${randomBytes(4).toString('hex')}`;
  const names = { queue: own, exchange: `${own}.x`, topics: `${own}.t`, alternate: `${own}.alt`, dead: `${own}.dead` };
  try {
    const other = await harness.open('other', SOON);
    await other.declare(topologyOf(names));
    // Straight to RabbitMQ: what the harness puts between writes, too.
    const to = { url: RABBITMQ_URL, name: own, holder: own };
    const broker = await RabbitBroker.open({ ...to, clock: systemClock, log: silent });
    const send = (body: string) => broker.publish({ exchange: names.exchange, key: names.queue, body });
    await send('the first one, with which the channel is opened');

    const writes = vi.spyOn(Socket.prototype, '_writev' as 'write');
    await Promise.all(Array.from({ length: MESSAGES }, () => send('x'.repeat(2_000))));
    expect(writes).toHaveBeenCalledTimes(1);

    await broker.close();
    await until(async () => (await other.depths([names.queue]))[0]?.ready === 1 + MESSAGES);
  } finally {
    await harness.drop();
  }
});
