import type { Channel } from 'rabbitmq-client';
import { MusterError } from '../errors.js';
import type { Limits } from '../limits.js';
import { holdQueueOf, type Queue, type Topology } from '../topology.js';
import { codeOf, type Link, reasonOf } from './link.js';

/** Deliveries of one message after which a quorum queue gives it up; without it RabbitMQ 4 does after 20. */
const DELIVERIES = 1_000_000;
/** After which the queue of holds of a process goes that is gone. Its messages have left it long before. */
const HOLDS_UNUSED_MS = 3_600_000;

/** @throws MusterError `broker_topology_differs` */
export async function declareTopology(channel: Channel, { exchanges, queues, bindings }: Topology): Promise<void> {
  for (const { name, type, alternate } of exchanges) {
    const args = alternate === undefined ? {} : { 'alternate-exchange': alternate };
    await alike(name, channel.exchangeDeclare({ exchange: name, type, durable: true, arguments: args }));
  }
  for (const queue of queues) {
    await alike(queue.name, channel.queueDeclare({ queue: queue.name, durable: true, arguments: argumentsOf(queue) }));
  }
  for (const { exchange, queue, key } of bindings) await channel.queueBind({ exchange, queue, routingKey: key });
}

/**
 * Resolves when the queues are gone, and not only their names: RabbitMQ 3.10 answers a delete some 20 ms before it tells those
 * who consume, and if there is a quorum queue of that name again by then, it tells them nothing; they stay consumers of the new
 * one and are sent messages which their channels drop. So each queue has one more consumer, and is gone when that is told.
 */
export async function removeTopology(link: Link, { exchanges, queues }: Topology): Promise<void> {
  for (const { name } of queues) {
    await link.admin(async (channel) => {
      const told = new Promise<void>((resolve) => channel.once('basic.cancel', () => resolve()));
      if (!(await consumed(channel, name))) return;
      // Whoever deletes is told at once: it takes another one.
      await link.admin((deleting) => deleting.queueDelete({ queue: name }));
      await told;
    });
  }
  await link.admin(async (channel) => {
    for (const { name } of exchanges) await channel.exchangeDelete({ exchange: name });
  });
}

/** @returns false if there is no such queue; the channel is closed then. */
async function consumed(channel: Channel, queue: string): Promise<boolean> {
  try {
    await channel.basicQos({ prefetchCount: 1 });
    await channel.basicConsume({ queue }, () => undefined);
    return true;
  } catch (error) {
    if (codeOf(error) === 'NOT_FOUND') return false;
    throw error;
  }
}

/** Where a process keeps its holds: see `consumer.ts`. */
export async function declareHolds(channel: Channel, queue: string, holder: string, limits: Limits): Promise<string> {
  const name = holdQueueOf(queue, holder);
  await channel.queueDeclare({
    queue: name,
    durable: true,
    arguments: {
      ...QUORUM,
      ...SAFELY,
      'x-message-ttl': limits.orphanMs,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': queue,
      'x-expires': HOLDS_UNUSED_MS,
    },
  });
  return name;
}

const QUORUM = { 'x-queue-type': 'quorum' as const, 'x-delivery-limit': DELIVERIES };
/** A message leaves a quorum queue for another one when that has it, and not before. Takes RabbitMQ 3.10. */
const SAFELY = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' as const };

function argumentsOf({ kind, deadLetter, most, messageMs, unusedMs }: Queue) {
  return {
    ...(kind === 'quorum' ? QUORUM : {}),
    ...(deadLetter === undefined ? {} : { 'x-dead-letter-exchange': deadLetter }),
    ...(deadLetter !== undefined && kind === 'quorum' ? SAFELY : {}),
    ...(most === undefined ? {} : { 'x-max-length': most }),
    ...(messageMs === undefined ? {} : { 'x-message-ttl': messageMs }),
    ...(unusedMs === undefined ? {} : { 'x-expires': unusedMs }),
  };
}

async function alike(name: string, declared: Promise<unknown>): Promise<void> {
  try {
    await declared;
  } catch (error) {
    if (codeOf(error) !== 'PRECONDITION_FAILED') throw error;
    throw new MusterError('broker_topology_differs', { name, reason: reasonOf(error) }, { cause: error });
  }
}
