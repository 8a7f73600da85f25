import { randomBytes } from 'node:crypto';
import type { Broker, Consumer, Delivery, Incoming, Limits, Topology } from '@muster/broker';
import { afterEach, beforeEach, expect } from 'vitest';

/** What the suite needs of a broker besides itself. Every test has one of its own, or a part of one that nobody else uses. */
export interface Harness {
  /** As another process opens it. */
  open(holder: string, limits?: Partial<Limits>): Promise<Broker>;
  /** From now on it is as if its process had been killed. */
  kill(broker: Broker): Promise<void>;
  /** Slots of all processes that wait for messages of this queue or hold one, where the broker itself counts them. */
  consumers?(queue: string): Promise<number>;
  /** Ends all that was opened. */
  drop(): Promise<void>;
}

export const silent = { info: () => {}, warn: () => {}, error: () => {} };

/** Short times, for what has to be waited for. */
export const SOON: Partial<Limits> = { orphanMs: 300, leaseMs: 900, retryFirstMs: 20, retryMostMs: 200 };

const MOST_MS = 60_000;

/** Waits for something to become true, not for time. */
export async function until(condition: () => boolean | Promise<boolean>, mostMs = MOST_MS): Promise<void> {
  const begun = performance.now();
  while (!(await condition())) {
    if (performance.now() - begun > mostMs) throw new Error(`what is waited for has not come in ${mostMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Takes messages in hand and keeps them until the test settles them. */
export class Hands {
  readonly deliveries: Delivery[] = [];
  readonly take = (delivery: Delivery): void => void this.deliveries.push(delivery);

  get texts(): string[] {
    return this.deliveries.map(({ body }) => body.toString());
  }

  async nth(count: number): Promise<Delivery> {
    await until(() => this.deliveries.length >= count);
    const delivery = this.deliveries[count - 1];
    if (delivery === undefined) throw new Error('there is none');
    return delivery;
  }
}

export interface Suite {
  readonly harness: Harness;
  /** A broker with `topology`. */
  readonly broker: Broker;
  readonly names: Names;
  another(holder?: string): Promise<Broker>;
  send(text: string, id?: string): Promise<void>;
  /** All that is in a queue, by taking it. */
  drain(queue: string, count: number): Promise<Incoming[]>;
}

export interface Names {
  readonly queue: string;
  readonly exchange: string;
  readonly topics: string;
  readonly alternate: string;
  readonly dead: string;
}

/** A queue with what belongs to it, as those of jobs are. */
export function topologyOf({ queue, exchange, topics, alternate, dead }: Names): Topology {
  const [altExchange, deadExchange] = [`${alternate}.Exchange`, `${dead}.Exchange`];
  return {
    exchanges: [
      { name: deadExchange, type: 'fanout' },
      { name: altExchange, type: 'fanout' },
      { name: exchange, type: 'direct', alternate: altExchange },
      { name: topics, type: 'topic', alternate: altExchange },
    ],
    queues: [
      { name: dead, kind: 'quorum' },
      { name: alternate, kind: 'quorum' },
      { name: queue, kind: 'quorum', deadLetter: deadExchange },
    ],
    bindings: [
      { exchange: deadExchange, queue: dead, key: '' },
      { exchange: altExchange, queue: alternate, key: '' },
      { exchange, queue, key: queue },
    ],
  };
}

export function createSuite(make: () => Promise<Harness>): Suite {
  let harness: Harness | undefined;
  let broker: Broker | undefined;
  let names: Names | undefined;

  beforeEach(async () => {
    harness = await make();
    const own = `test.${randomBytes(6).toString('hex')}`;
    names = {
      queue: `${own}.submit.Queue`,
      exchange: `${own}.submit.Exchange`,
      topics: `${own}.cmd.Exchange`,
      alternate: `${own}.alt.Queue`,
      dead: `${own}.dead.Queue`,
    };
    broker = await harness.open('one', SOON);
    await broker.declare(topologyOf(names));
  });
  afterEach(async () => {
    await harness?.drop();
  });

  const present = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('not in a test');
    return value;
  };
  return {
    get harness() {
      return present(harness);
    },
    get broker() {
      return present(broker);
    },
    get names() {
      return present(names);
    },
    another: (holder = 'two') => present(harness).open(holder, SOON),
    async send(text, id) {
      const { exchange, queue } = present(names);
      await present(broker).publish({ exchange, key: queue, body: text, ...(id === undefined ? {} : { id }) });
    },
    async drain(queue, count) {
      const found: Incoming[] = [];
      const consumer: Consumer = present(broker).consume(queue, { slots: 10 }, async (delivery) => {
        found.push(delivery);
        await delivery.ack();
      });
      await until(() => found.length >= count);
      await consumer.stop();
      expect(found).toHaveLength(count);
      return found;
    },
  };
}
