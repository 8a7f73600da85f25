import { type Broker, EmbeddedBroker, type EmbeddedOptions } from '@muster/broker';
import { SOON } from '../../../broker/test/conformance/suite.js';
import { rabbitmq } from '../../../broker/test/rabbitmq.js';

/** Brokers of one test, each as another process has it. */
export interface TestBrokers {
  open(options: EmbeddedOptions): Promise<Broker>;
  /** It is as if its process had been killed. */
  kill(broker: Broker): Promise<void>;
  /** Closes those that are left, and removes what they declared. */
  drop(): Promise<void>;
}

export type MakeBrokers = () => Promise<TestBrokers>;

/** In the store of the test. Who cuts that off kills it. */
export const embeddedBrokers: MakeBrokers = async () => ({
  open: (options) => EmbeddedBroker.open(options),
  kill: async () => undefined,
  drop: async () => undefined,
});

/** At a RabbitMQ where nobody else has queues of jobs. */
export const rabbitBrokers =
  (url: string): MakeBrokers =>
  async () => {
    const harness = await rabbitmq(url);
    return {
      open: ({ holder }) => harness.open(holder, SOON),
      kill: (broker) => harness.kill(broker),
      drop: () => harness.drop(),
    };
  };
