import { type Broker, EmbeddedBroker, RabbitBroker } from '@muster/broker';
import type { Base } from '@muster/platform/layers';

/** Where the queues of jobs are: RabbitMQ when it is configured, else the database. */
export function openBroker(base: Pick<Base, 'store' | 'clock' | 'logger' | 'config' | 'incarnation'>): Promise<Broker> {
  const { store, clock, logger: log, config, incarnation: holder } = base;
  const { broker_url: url } = config;
  if (url === undefined) return EmbeddedBroker.open({ store, clock, log, holder });
  return RabbitBroker.open({ url, name: 'muster', holder, clock, log });
}
