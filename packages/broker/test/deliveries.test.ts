import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EmbeddedDelivery } from '../src/embedded/delivery.js';
import type { MessageRow } from '../src/embedded/repository.js';
import { RabbitDelivery } from '../src/rabbitmq/delivery.js';

const MESSAGE = { id: 'j1', exchange: 'e', key: 'k', headers: {}, redelivered: false };
const ROW: MessageRow = { ...MESSAGE, position: 1, queue: 'q', body: Buffer.from('1'), diedIn: null };

test('embedded: a copy that comes while its message is being acknowledged is done with, too', async () => {
  const settled: unknown[] = [];
  let stored: () => void = () => undefined;
  const storing = new Promise<void>((resolve) => (stored = resolve));
  const delivery = new EmbeddedDelivery(ROW, {
    holder: 'p1',
    persist: async (writes) => {
      settled.push(...writes.filter(({ statement }) => statement.kind === 'update').map(({ row }) => row.position));
      await storing;
    },
    deadLetters: async () => [],
    over: () => undefined,
    reaches: () => true,
    handedOver: () => undefined,
  });
  const acknowledged = delivery.ack();
  delivery.attach({ ...ROW, position: 2 });
  stored();
  expect(await acknowledged).toBe('settled');
  await turn();
  expect(settled).toEqual([1, 2]);
});

test('RabbitMQ: of a message that was handed over nothing that comes again is taken for done with', async () => {
  const ends: string[] = [];
  const delivery = new RabbitDelivery({ ...MESSAGE, body: Buffer.from('1'), death: null }, 'q', {
    over: (_delivery, end) => void ends.push(end),
    copyTo: async () => true,
    deadLetter: async () => true,
  });
  // Its connection is lost: the broker delivers it again, perhaps to who has the copy.
  expect(await delivery.handOver('p2')).toBe('lost');
  expect(ends).toEqual(['back']);
});
