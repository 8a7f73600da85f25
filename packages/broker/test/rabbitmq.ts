import { randomBytes } from 'node:crypto';
import { systemClock } from '@muster/base';
import { type Broker, type BrokerLog, holdQueueOf, RabbitBroker } from '@muster/broker';
import { Connection } from 'rabbitmq-client';
import { type Cutter, cutter } from '../../store/test/cutter.js';
import { type Harness, silent } from './conformance/suite.js';

/** Where RabbitMQ answers: `scripts/test.sh` has seen to it. */
export const RABBITMQ_URL = process.env.MUSTER_TEST_RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672';

/** Each process has a way of its own to the broker, which a test cuts to kill it. */
export async function rabbitmq(url = RABBITMQ_URL, log: BrokerLog = silent): Promise<Harness> {
  const ways = new Map<Broker, Cutter>();
  const holders: string[] = [];
  const own = randomBytes(4).toString('hex');
  const queues = new Set<string>();
  const exchanges = new Set<string>();
  let looking: Connection | undefined;
  return {
    async open(name, limits = {}) {
      const way = await cutter(url);
      const holder = `${name}-${own}`;
      const broker = await RabbitBroker.open({ url: way.url, name, holder, clock: systemClock, log, limits });
      ways.set(broker, way);
      holders.push(holder);
      const declare = broker.declare.bind(broker);
      broker.declare = async (topology) => {
        for (const { name: queue } of topology.queues) queues.add(queue);
        for (const { name: exchange } of topology.exchanges) exchanges.add(exchange);
        await declare(topology);
      };
      return broker;
    },
    async kill(broker) {
      await ways.get(broker)?.close();
    },
    async consumers(queue) {
      looking ??= new Connection(url);
      const channel = await looking.acquire();
      try {
        return (await channel.queueDeclare({ queue, passive: true })).consumerCount;
      } finally {
        await channel.close();
      }
    },
    async drop() {
      await looking?.close();
      await Promise.all([...ways.keys()].map((broker) => broker.close()));
      await Promise.all([...ways.values()].map((way) => way.close().catch(() => undefined)));
      await cleaned(
        url,
        [...queues, ...[...queues].flatMap((queue) => holders.map((holder) => holdQueueOf(queue, holder)))],
        exchanges,
      );
    },
  };
}

async function cleaned(url: string, queues: Iterable<string>, exchanges: Iterable<string>): Promise<void> {
  const connection = new Connection(url);
  connection.on('error', () => undefined);
  const channel = await connection.acquire();
  for (const queue of queues) await channel.queueDelete({ queue });
  for (const exchange of exchanges) await channel.exchangeDelete({ exchange });
  await channel.close();
  await connection.close();
}
