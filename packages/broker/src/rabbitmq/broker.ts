import type { Clock } from '@muster/base';
import { MusterError } from '../errors.js';
import { LIMITS, type Limits } from '../limits.js';
import { checked, unavailable } from '../outgoing.js';
import type { Queue, Topic, Topology } from '../topology.js';
import type {
  Broker,
  BrokerLog,
  BrokerStatus,
  ConsumeOptions,
  Consumer,
  Handler,
  Hear,
  Outgoing,
  QueueDepth,
  Subscription,
} from '../types.js';
import { RabbitConsumer } from './consumer.js';
import { declareTopology, removeTopology } from './declare.js';
import { codeOf, Link, reasonOf } from './link.js';
import { Outbound } from './outbound.js';
import { Topics } from './topics.js';

export interface RabbitOptions {
  /** `amqp://USER:PASSWORD@HOST:PORT/VHOST`, or `amqps:`. */
  readonly url: string;
  /** Begins the names of its connections. */
  readonly name: string;
  /** Name of this process, new at every start. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits?: Partial<Limits>;
}

/** RabbitMQ 3.10 and newer, over two connections: one publishes, the other does all the rest. */
export class RabbitBroker implements Broker {
  readonly kind = 'rabbitmq';
  readonly holder: string;
  readonly #clock: Clock;
  readonly #log: BrokerLog;
  readonly #limits: Limits;
  readonly #in: Link;
  readonly #out: Link;
  readonly #outbound: Outbound;
  readonly #topics: Topics;
  readonly #consumers = new Set<RabbitConsumer>();
  /** What is declared again with each connection, in the order in which it was declared. */
  readonly #declared = new Set<Topology>();
  readonly #queues = new Map<string, Queue>();
  #closing: Promise<void> | null = null;

  private constructor({ url, name, holder, clock, log, limits }: RabbitOptions) {
    this.holder = holder;
    this.#clock = clock;
    this.#log = log;
    this.#limits = { ...LIMITS, ...limits };
    const link = { url, clock, log, limits: this.#limits };
    this.#in = new Link({ ...link, name: `${name}-InConnection` });
    this.#out = new Link({ ...link, name: `${name}-OutConnection` });
    this.#outbound = new Outbound(this.#out, this.#limits);
    this.#in.onUp(() => void this.#declareAgain());
    this.#topics = new Topics({ link: this.#in, clock, log, limits: this.#limits, holder });
  }

  /** Resolves when it is connected, and after the first failure to connect, which it goes on trying. */
  static async open(options: RabbitOptions): Promise<RabbitBroker> {
    const broker = new RabbitBroker(options);
    await Promise.all([broker.#in.settled(), broker.#out.settled()]);
    return broker;
  }

  async declare(topology: Topology): Promise<void> {
    this.#declared.add(topology);
    for (const queue of topology.queues) this.#queues.set(queue.name, queue);
    try {
      await this.#in.admin((channel) => declareTopology(channel, topology));
    } catch (error) {
      if (error instanceof MusterError && error.code === 'broker_topology_differs') this.#forget(topology);
      throw refused(error);
    }
  }

  async remove(topology: Topology): Promise<void> {
    this.#forget(topology);
    await removeTopology(this.#in, topology).catch((error: unknown) => {
      throw refused(error);
    });
  }

  async publish(message: Outgoing): Promise<void> {
    await this.#outbound.publish(checked(message, this.#limits));
  }

  consume(queue: string, options: ConsumeOptions, handler: Handler): Consumer {
    if (this.#closing !== null) throw unavailable('it is closed');
    const consumer = new RabbitConsumer(queue, options, handler, {
      link: this.#in,
      outbound: this.#outbound,
      clock: this.#clock,
      log: this.#log,
      limits: this.#limits,
      holder: this.holder,
      deadLetterOf: (name) => this.#queues.get(name)?.deadLetter,
      stopped: (stopped) => void this.#consumers.delete(stopped),
    });
    this.#consumers.add(consumer);
    return consumer;
  }

  subscribe(topic: Topic, hear: Hear): Subscription {
    return this.#topics.subscribe(topic, hear);
  }

  async depths(queues: readonly string[]): Promise<(QueueDepth | null)[]> {
    const found: (QueueDepth | null)[] = [];
    for (const queue of queues) found.push(await this.#depth(queue));
    return found;
  }

  status(): BrokerStatus {
    const [taking, publishing] = [this.#in.status(), this.#out.status()];
    if (!taking.connected) return taking;
    if (!publishing.connected) return publishing;
    return { connected: true, since: Math.max(taking.since, publishing.since), why: null };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // A broker that does not answer has given back everything once the connections are gone.
    const gone = this.#clock.after(this.#limits.closeMs, () => void Promise.all([this.#in.close(), this.#out.close()]));
    await Promise.all([
      this.#outbound.close(),
      this.#topics.close(),
      ...[...this.#consumers].map((consumer) => consumer.stop()),
    ]);
    gone.cancel();
    await Promise.all([this.#in.close(), this.#out.close()]);
  }

  async #depth(queue: string): Promise<QueueDepth | null> {
    try {
      const found = await this.#in.admin((channel) => channel.queueDeclare({ queue, passive: true }));
      return { ready: found.messageCount, held: null };
    } catch (error) {
      if (codeOf(error) === 'NOT_FOUND') return null;
      throw refused(error);
    }
  }

  async #declareAgain(): Promise<void> {
    for (const topology of this.#declared) {
      try {
        await this.#in.admin((channel) => declareTopology(channel, topology));
      } catch (err) {
        this.#log.warn({ err }, 'queues and exchanges cannot be declared now');
      }
    }
  }

  #forget(topology: Topology): void {
    const names = new Set([...topology.queues, ...topology.exchanges].map(({ name }) => name));
    for (const known of this.#declared) {
      if ([...known.queues, ...known.exchanges].some(({ name }) => names.has(name))) this.#declared.delete(known);
    }
    for (const { name } of topology.queues) this.#queues.delete(name);
  }
}

/** What the broker answers, as the error that it is for whoever asked. */
function refused(error: unknown): Error {
  return error instanceof MusterError ? error : unavailable(reasonOf(error), error);
}
