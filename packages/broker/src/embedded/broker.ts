import type { Clock } from '@muster/base';
import { MISSED as HINTS_MISSED, type Store, type Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { LIMITS, type Limits } from '../limits.js';
import { checked, unavailable, unroutable } from '../outgoing.js';
import type { Topic, Topology } from '../topology.js';
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
import { EmbeddedConsumer } from './consumer.js';
import { Holders } from './holders.js';
import {
  depthOf,
  dropExchange,
  dropQueues,
  inHandOf,
  type MessageRow,
  type NewMessage,
  queueRow,
  release,
  sweep,
  writes,
} from './repository.js';
import { Router } from './router.js';
import { subscribe } from './subscription.js';

/** Topics of hints: a queue has something to take; a process was handed something; something was declared or deleted. */
const WAKE = 'broker.wake';
const HANDED = 'broker.handed';
const DECLARED = 'broker.declared';

export interface EmbeddedOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: BrokerLog;
  /** Name of this process, new at every start. */
  readonly holder: string;
  /** No other process uses the database while this one does. Unless given: whether it is SQLite, which is kept to one. */
  readonly alone?: boolean;
  readonly limits?: Partial<Limits>;
}

/**
 * Queues in the database. A message is a row of each queue that it is routed to, stored in group commits; in hand it carries
 * the name of the process, done with it is marked, and deleted with others. Nobody asks the database at intervals: a
 * consumer looks when something was published, here or (by a hint) in another process, and when a slot becomes free.
 */
export class EmbeddedBroker implements Broker {
  readonly kind = 'embedded';
  readonly holder: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: BrokerLog;
  readonly #limits: Limits;
  readonly #alone: boolean;
  readonly #router: Router;
  readonly #holders: Holders | null;
  readonly #consumers = new Map<string, Set<EmbeddedConsumer>>();
  readonly #subscriptions = new Set<{ stop(): Promise<void>; again(): void }>();
  readonly #stopListening: (() => void)[] = [];
  /** Rows to delete. */
  #settled = 0;
  #sweeping: Promise<void> | null = null;
  readonly #openedAt: number;
  #closing: Promise<void> | null = null;

  private constructor(options: EmbeddedOptions) {
    const { store, clock, log, holder, alone = store.kind === 'sqlite', limits } = options;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.holder = holder;
    this.#alone = alone;
    this.#limits = { ...LIMITS, ...limits };
    this.#openedAt = clock.now();
    this.#router = new Router(store, alone);
    const freed = (): void => this.#wakeAll();
    const lost = (): void => {
      for (const subscription of this.#subscriptions) subscription.again();
      this.#wakeAll();
    };
    this.#holders = alone ? null : new Holders({ store, clock, log, limits: this.#limits, holder, freed, lost });
  }

  /** @throws MusterError `store_unavailable` */
  static async open(options: EmbeddedOptions): Promise<EmbeddedBroker> {
    const broker = new EmbeddedBroker(options);
    // Whoever had anything in hand is gone.
    if (broker.#alone) await broker.#store.transact((trx) => release(trx, null));
    else broker.#listen();
    await broker.#holders?.begin();
    await broker.#sweep();
    return broker;
  }

  async declare({ exchanges, queues, bindings }: Topology): Promise<void> {
    for (const { name, deadLetter = null } of queues) {
      const found = await queueRow(this.#store, name);
      if (found !== undefined && found.dead_letter !== deadLetter) {
        const reason = `its dead letters go to ${found.dead_letter}, not to ${deadLetter}`;
        throw new MusterError('broker_topology_differs', { name, reason });
      }
    }
    await this.#commit([
      ...exchanges.map(writes.exchange),
      ...queues.map(({ name, deadLetter = null }) => writes.queue({ name, dead_letter: deadLetter, holder: null })),
      ...bindings.map(({ exchange, queue, key }) => writes.binding({ exchange, queue, key })),
    ]);
    this.#declared();
  }

  async remove({ exchanges, queues }: Topology): Promise<void> {
    const names = queues.map(({ name }) => name);
    await this.#store
      .transact(async (trx) => {
        await dropQueues(trx, names);
        for (const { name } of exchanges) await dropExchange(trx, name);
      })
      .catch(refused);
    this.#declared();
  }

  async publish(message: Outgoing): Promise<void> {
    const { exchange, key, id, headers, body } = checked(message, this.#limits);
    if (this.#closing !== null) throw unavailable('it is closed');
    const queues = await this.#router.route(exchange, key).catch(refused);
    if (queues.length === 0) throw unroutable(message);
    await this.#commit(
      queues.map((queue) => writes.message({ queue, id, exchange, key, headers, body, diedIn: null })),
    );
    for (const queue of queues) this.#freed(queue);
  }

  consume(queue: string, options: ConsumeOptions, handler: Handler): Consumer {
    if (this.#closing !== null) throw unavailable('it is closed');
    const consumer = new EmbeddedConsumer(queue, options, handler, {
      store: this.#store,
      clock: this.#clock,
      log: this.#log,
      limits: this.#limits,
      holder: this.holder,
      deadLetters: (row) => this.#deadLetters(row),
      freed: (name) => this.#freed(name),
      reaches: (holder) => !this.#alone || holder === this.holder,
      handedOver: (holder) => {
        this.#store.hints.send(HANDED, holder);
        this.#holders?.handedOver(holder);
      },
      settled: () => {
        this.#settled += 1;
        if (this.#settled >= this.#limits.sweepRows) void this.#sweep();
      },
      stopped: (stopped) => void this.#consumers.get(queue)?.delete(stopped),
    });
    const consumers = this.#consumers.get(queue) ?? new Set();
    this.#consumers.set(queue, consumers.add(consumer));
    consumer.wake();
    return consumer;
  }

  subscribe(topic: Topic, hear: Hear): Subscription {
    const subscription = subscribe(topic, hear, {
      store: this.#store,
      clock: this.#clock,
      log: this.#log,
      limits: this.#limits,
      holder: this.holder,
      changed: () => this.#router.forgetExchange(topic.exchange),
      consume: (queue, options, handler) => this.consume(queue, options, handler),
      stopped: () => void this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  depths(queues: readonly string[]): Promise<(QueueDepth | null)[]> {
    const depth = async (name: string): Promise<QueueDepth | null> => {
      if ((await queueRow(this.#store, name)) === undefined) return null;
      return depthOf(this.#store, name);
    };
    return Promise.all(queues.map(depth)).catch(refused);
  }

  status(): BrokerStatus {
    const health = this.#store.health();
    if (health.ok) return { connected: true, since: this.#openedAt, why: null };
    return { connected: false, since: health.since, why: health.reason };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    const consumers = [...this.#consumers.values()].flatMap((some) => [...some]);
    const subscriptions = [...this.#subscriptions];
    const given = (async () => {
      await Promise.all(subscriptions.map((subscription) => subscription.stop()));
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await this.#sweeping;
      await this.#holders?.end();
    })().catch((err: unknown) => this.#log.warn({ err }, 'what was in hand could not be given back'));
    // A database that is away takes it back by itself: when the lease has ended, or at the next start.
    let late = (): void => undefined;
    const timer = this.#clock.after(this.#limits.closeMs, () => late());
    await Promise.race([given, new Promise<void>((resolve) => (late = resolve))]);
    timer.cancel();
  }

  #listen(): void {
    const { hints } = this.#store;
    this.#stopListening.push(
      hints.listen(WAKE, (queue) => (queue === HINTS_MISSED ? this.#wakeAll() : this.#wake(queue))),
      hints.listen(DECLARED, () => this.#router.forget()),
      hints.listen(HANDED, (holder) => {
        if (holder === HINTS_MISSED || holder === this.holder) void this.#handed();
      }),
    );
  }

  /** Somebody gave this process messages: they are of deliveries that it has in hand, or go back to the queue after a while. */
  async #handed(): Promise<void> {
    try {
      const unknown: MessageRow[] = [];
      for (const row of await inHandOf(this.#store, this.holder)) {
        const consumers = [...(this.#consumers.get(row.queue) ?? [])];
        if (consumers.some((consumer) => consumer.has(row) || consumer.attach(row))) continue;
        unknown.push(row);
      }
      if (unknown.length > 0) this.#clock.after(this.#limits.orphanMs, () => void this.#giveBack(unknown));
    } catch (err) {
      this.#log.warn({ err }, 'messages that were handed over cannot be read now');
    }
  }

  async #giveBack(rows: readonly MessageRow[]): Promise<void> {
    for (const row of rows) {
      const consumers = [...(this.#consumers.get(row.queue) ?? [])];
      if (consumers.some((consumer) => consumer.has(row) || consumer.attach(row))) continue;
      // Refused: somebody else has it by now.
      await this.#store.persist(writes.giveBack(row.position, this.holder)).catch(() => undefined);
      this.#freed(row.queue);
    }
  }

  async #deadLetters(row: MessageRow): Promise<readonly NewMessage[]> {
    const { queue: diedIn, id, exchange, key, headers, body } = row;
    const dead = (await this.#router.queue(diedIn))?.dead_letter ?? null;
    if (dead === null) return [];
    const queues = await this.#router.route(dead, key);
    return queues.map((queue) => ({ queue, id, exchange, key, headers, body, diedIn }));
  }

  #declared(): void {
    this.#router.forget();
    if (!this.#alone) this.#store.hints.send(DECLARED, '');
  }

  #freed(queue: string): void {
    this.#wake(queue);
    if (!this.#alone) this.#store.hints.send(WAKE, queue);
  }

  #wake(queue: string): void {
    for (const consumer of this.#consumers.get(queue) ?? []) consumer.wake();
  }

  #wakeAll(): void {
    for (const queue of this.#consumers.keys()) this.#wake(queue);
  }

  async #sweep(): Promise<void> {
    this.#settled = 0;
    this.#sweeping ??= (async () => {
      try {
        while (!(await this.#store.transact((trx) => sweep(trx, this.#limits.sweepRows)))) this.#settled = 0;
      } catch (err) {
        this.#log.warn({ err }, 'messages that are done with cannot be deleted now');
      } finally {
        this.#sweeping = null;
      }
    })();
    await this.#sweeping;
  }

  #commit(made: readonly Write[]): Promise<void> {
    return this.#store.commit(made).catch(refused);
  }
}

/** A database that is away is a broker that is away. */
function refused(error: unknown): never {
  if (error instanceof MusterError && error.code === 'store_unavailable') throw unavailable(error.message, error);
  throw error;
}
