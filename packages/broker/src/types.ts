import type { Topic, Topology } from './topology.js';

/**
 * Durable queues, by RabbitMQ or embedded in the store. Both do the same, and one suite of tests holds them to it.
 *
 * Everything is delivered at least once: whoever handles a message must expect it again. A message is one thing by its
 * `id`: a repeat after a doubtful `publish` keeps the id, something new has a new one, also if it is for the same job.
 */
export interface Broker {
  readonly kind: 'rabbitmq' | 'embedded';
  /** Name of this process, new at every start; what others `handOver` to. */
  readonly holder: string;
  /**
   * Makes the exchanges, queues and bindings that are not there yet. What was declared once is made again by itself when
   * the broker has lost it.
   * @throws MusterError `broker_unavailable`, `broker_topology_differs` when a queue is there with other flags
   */
  declare(topology: Topology): Promise<void>;
  /** Deletes its queues with what is in them, and its exchanges. What is not there is no error. */
  remove(topology: Topology): Promise<void>;
  /**
   * Resolves when the broker has confirmed that the message is durable in every queue it was routed to, or, when it could
   * be routed nowhere, in the alternate queue.
   * @throws MusterError `broker_unavailable` at once while there is no connection or the broker takes nothing (disk or memory
   * alarm), and after `LIMITS.publishMs` without an answer: then it may have been taken all the same; `message_unroutable` when
   * not even an alternate queue took it, `message_too_large`
   */
  publish(message: Outgoing): Promise<void>;
  /** Begins as soon as there is a connection, and again after each loss of it, until it is stopped. */
  consume(queue: string, options: ConsumeOptions, handler: Handler): Consumer;
  /** A queue of this process alone that goes with it, bound to a topic exchange. Restored as consumers are. */
  subscribe(topic: Topic, hear: Hear): Subscription;
  /** In the order of the names; null: there is no such queue. @throws MusterError `broker_unavailable` */
  depths(queues: readonly string[]): Promise<(QueueDepth | null)[]>;
  status(): BrokerStatus;
  /** Gives back at once what is held, in a bounded time; what others publish is theirs to wait for. */
  close(): Promise<void>;
}

export interface Outgoing {
  /** Empty: straight to the queue that `key` names. */
  readonly exchange: string;
  readonly key: string;
  /** At most `LIMITS.bodyBytes`. */
  readonly body: string | Uint8Array;
  /** One that is random unless given. */
  readonly id?: string;
  readonly headers?: Headers;
}

export type Headers = Readonly<Record<string, string>>;

export interface Incoming {
  readonly id: string;
  /** Where it was published, not where it came through since. */
  readonly exchange: string;
  readonly key: string;
  readonly body: Buffer;
  readonly headers: Headers;
}

export interface ConsumeOptions {
  /** How many deliveries may be under way: each is held by a slot until it is settled. At most `LIMITS.slots`. */
  readonly slots: number;
  /**
   * A delivery may be held for as long as it takes, however soon the broker wants its messages acknowledged, and may be handed
   * over. For quorum queues.
   */
  readonly held?: boolean;
}

/** Called once for each delivery. One that throws, or whose promise is rejected, rejects the delivery; it is logged. */
export type Handler = (delivery: Delivery) => void | Promise<void>;

/**
 * A message that this process has in hand until it settles it, once, by one of four ways. They resolve with `lost` when the
 * broker has taken it back meanwhile (connection lost, lease over): then it is delivered again, here or elsewhere. A held
 * delivery is never lost to this process by a reconnection alone: what comes again of it is attached to it silently.
 */
export interface Delivery extends Incoming {
  readonly queue: string;
  /** It may have been delivered before. False is certain. */
  readonly redelivered: boolean;
  /** Why it is in a dead-letter queue. */
  readonly death: Death | null;
  /** Done with it: it is gone. */
  ack(): Promise<Settled>;
  /** It goes to the dead-letter queue. */
  reject(): Promise<Settled>;
  /** It goes back to the head of its queue at once, for anybody. */
  requeue(): Promise<Settled>;
  /**
   * To the process `holder`, which holds a delivery of this message or of its job already, without taking a slot there: it is
   * attached to that one, and comes back to the queue when that process has none or is gone. `refused`: it cannot be reached,
   * the delivery is still in hand.
   */
  handOver(holder: string): Promise<Settled | 'refused'>;
}

export type Settled = 'settled' | 'lost';

export interface Death {
  readonly queue: string;
  /** `rejected`, `expired`, `maxlen` or `delivery_limit`. */
  readonly reason: string;
}

export interface Consumer {
  /** How many deliveries it holds. */
  readonly held: number;
  /** 0: takes nothing more and keeps what it holds; more than it was begun with is refused. */
  setSlots(slots: number): void;
  /** Takes nothing more, and gives back at once what it holds. */
  stop(): Promise<void>;
}

/** What a subscriber is told instead of a message when some may have been missed: also once at the beginning. */
export const MISSED = null;

export type Hear = (message: Incoming | typeof MISSED) => void;

export interface Subscription {
  stop(): Promise<void>;
}

export interface QueueDepth {
  /** Waiting for a consumer. */
  readonly ready: number;
  /** Delivered and not settled; null: the broker does not say. */
  readonly held: number | null;
}

export interface BrokerStatus {
  /** Whether messages are taken now. */
  readonly connected: boolean;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Why not, or null. */
  readonly why: string | null;
}

/** pino and console fit. */
export interface BrokerLog {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
