import type {
  Broker,
  BrokerStatus,
  ConsumeOptions,
  Consumer,
  Handler,
  Hear,
  Outgoing,
  QueueDepth,
  Subscription,
  Topic,
  Topology,
} from '@muster/broker';
import { MusterError } from '@muster/broker/errors';
import type { Random } from '../../kernel/random.js';
import type { Process, Timeline } from '../../kernel/timeline.js';
import { SimulatedConsumer } from './consumer.js';
import type { BrokerServer, Connection, Kept } from './server.js';

export interface ClientWorld {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly server: BrokerServer;
  /** Mean time from here to there. */
  readonly delayMs: () => number;
  readonly failed: (error: unknown) => void;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2_000;
const ANSWER_MS = 10_000;

/** The broker as one process has it: over a connection that comes and goes. */
export class SimulatedBroker implements Broker {
  readonly kind = 'rabbitmq';
  readonly holder: string;
  readonly process: Process;
  readonly world: ClientWorld;
  #connection: Connection | null = null;
  #since: number;
  #closed = false;
  #messages = 0;
  /** Who waits for an answer. */
  readonly #waiting = new Set<(error: Error) => void>();
  readonly #consumers = new Set<SimulatedConsumer>();
  readonly #listeners = new Set<() => void>();

  constructor(process: Process, world: ClientWorld, holder: string) {
    this.process = process;
    this.world = world;
    this.holder = holder;
    this.#since = process.clock.now();
    this.#connect(FIRST_RETRY_MS);
  }

  /** It is cut: both ends find out at once. */
  lose(): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#connection = null;
    this.#since = this.process.clock.now();
    this.world.server.disconnect(connection);
    for (const refuse of [...this.#waiting]) refuse(unavailable('the connection is lost'));
    this.process.clock.after(this.world.random.around(FIRST_RETRY_MS), () => this.#connect(FIRST_RETRY_MS));
  }

  declare(topology: Topology): Promise<void> {
    return this.ask(() => this.world.server.declare(topology));
  }

  remove({ queues }: Topology): Promise<void> {
    return this.ask(() => {
      for (const { name } of queues) this.world.server.remove(name);
    });
  }

  async publish({ exchange, key, id, headers = {}, body }: Outgoing): Promise<void> {
    if (!this.world.server.taking) throw unavailable('the broker takes nothing now');
    this.#messages += 1;
    const message = { id: id ?? `${this.holder}.${this.#messages}`, exchange, key, headers, body: Buffer.from(body) };
    const routed = await this.ask(() => this.world.server.publish(message));
    if (!routed) throw new MusterError('message_unroutable', { exchange, key });
  }

  consume(queue: string, options: ConsumeOptions, handler: Handler): Consumer {
    const consumer = new SimulatedConsumer(this, queue, options, handler, () => this.#consumers.delete(consumer));
    this.#consumers.add(consumer);
    if (this.#connection !== null) consumer.begin(this.#connection);
    return consumer;
  }

  subscribe({ name, exchange, keys }: Topic, hear: Hear): Subscription {
    const queue = `${name}.${this.holder}`;
    const begin = (): void => {
      const connection = this.#connection;
      if (connection === null) return;
      this.ask(() => {
        const { server } = this.world;
        const bindings = keys.map((key) => ({ exchange, queue, key }));
        server.listen(connection, queue, bindings);
        server.take(queue, {
          connection,
          room: () => 1,
          deliver: (message) => {
            server.ack(connection, message);
            this.later(() => hear(message));
          },
        });
      }).then(() => hear(null), ignore);
    };
    this.#listeners.add(begin);
    begin();
    return {
      stop: async () => {
        this.#listeners.delete(begin);
        await this.ask(() => this.world.server.remove(queue)).catch(ignore);
      },
    };
  }

  depths(queues: readonly string[]): Promise<(QueueDepth | null)[]> {
    return this.ask(() => queues.map((queue) => this.world.server.depth(queue)));
  }

  status(): BrokerStatus {
    const why = this.#connection === null ? 'there is no connection' : null;
    const taking = this.world.server.taking ? null : 'it takes nothing now';
    return { connected: why === null && taking === null, since: this.#since, why: why ?? taking };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#consumers].map((consumer) => consumer.stop()));
    const connection = this.#connection;
    this.#connection = null;
    if (connection !== null) this.world.server.disconnect(connection);
  }

  /** Its process is gone: the broker notices. */
  died(): void {
    const connection = this.#connection;
    this.#connection = null;
    if (connection !== null) this.world.server.disconnect(connection);
  }

  isOpen(connection: Connection): boolean {
    return this.#connection === connection;
  }

  /** There and back, over the connection that there is now. @throws MusterError `broker_unavailable` */
  ask<T>(work: () => T): Promise<T> {
    const connection = this.#connection;
    if (connection === null) return Promise.reject(unavailable('there is no connection'));
    return new Promise<T>((resolve, reject) => {
      const refuse = (error: Error): void => {
        settle();
        reject(error);
      };
      const timer = this.process.clock.after(ANSWER_MS, () => refuse(unavailable('no answer in time')));
      const settle = (): void => {
        timer.cancel();
        this.#waiting.delete(refuse);
      };
      this.#waiting.add(refuse);
      // What is on its way arrives, also when its sender has died since, but not when the connection is lost.
      this.world.timeline.after(this.#delay(), null, () => {
        if (!this.isOpen(connection)) return;
        const answer = work();
        this.later(() => {
          if (!this.isOpen(connection)) return;
          settle();
          resolve(answer);
        });
      });
    });
  }

  /** Here, when it has come from there. */
  later(work: () => void): void {
    this.world.timeline.after(this.#delay(), this.process, work);
  }

  /** There, when it has come from here; nobody waits for it. */
  tell(connection: Connection, work: () => void): void {
    this.world.timeline.after(this.#delay(), null, () => {
      if (this.isOpen(connection)) work();
    });
  }

  #delay(): number {
    return this.world.random.around(this.world.delayMs());
  }

  #connect(retryMs: number): void {
    if (this.#closed || this.#connection !== null || !this.process.alive) return;
    const { server } = this.world;
    if (!server.up) {
      this.process.clock.after(retryMs, () => this.#connect(Math.min(2 * retryMs, LONGEST_RETRY_MS)));
      return;
    }
    const connection: Connection = {
      holder: this.holder,
      unsettled: new Set(),
      returned: (message) => this.#returned(connection, message),
    };
    server.connect(connection);
    this.#connection = connection;
    this.#since = this.process.clock.now();
    for (const consumer of this.#consumers) consumer.begin(connection);
    for (const begin of this.#listeners) begin();
  }

  #returned(connection: Connection, message: Kept): boolean {
    const consumer = [...this.#consumers].find(({ queue }) => queue === message.queue);
    if (consumer === undefined) return false;
    this.later(() => consumer.returned({ connection, message }));
    return true;
  }
}

export function unavailable(reason: string): MusterError {
  return new MusterError('broker_unavailable', { reason, seconds: 5 });
}

function ignore(): void {
  // It begins again with the next connection.
}
