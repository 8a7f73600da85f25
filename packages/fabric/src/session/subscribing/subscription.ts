import type { MusterError } from '../../errors.js';
import type { Delivery } from '../../event/delivery.js';
import { EVENTS_DESTINATION } from '../../event/tail.js';
import type { Hub, Receiver, Registration } from '../../hub/hub.js';
import type { FabricMetrics } from '../../metrics.js';
import { DropQueue, type SlowPolicy } from '../../outbound/drop-queue.js';
import { type OutFrame, single } from '../../outbound/frame-sequence.js';
import type { MessagePrefix, MessagePrefixes } from '../../outbound/message-prefix.js';
import type { Backlog, OutboundQueue } from '../../outbound/outbound-queue.js';
import { bytesOf } from '../../stomp/bytes.js';
import { concat, encodeFrame } from '../../stomp/encode.js';
import { frame, type StompVersion } from '../../stomp/frame.js';
import { messagePrefix } from '../../stomp/message.js';
import type { AckMode, Replay, Subscriber } from '../broker.js';

/** Why events may be missing below a relay that is back. */
const LOST_UPSTREAM = 'a relay had lost its upstream';
const REDELIVERED = bytesOf('redelivered:true\n');

/** What a subscription needs of its session. */
export interface SubscriptionPorts {
  readonly version: StompVersion;
  readonly queue: OutboundQueue;
  readonly prefixes: MessagePrefixes;
  readonly metrics: FabricMetrics;
  /** @param narrowed Of a SUBSCRIBE: see `narrowedReceipt`. */
  receipt(id: string, narrowed?: boolean): void;
  /** @param id of the subscription that cannot go on; null: it has ended before. */
  fail(error: MusterError, receipt: string | null, id: string | null): void;
}

/**
 * One subscription, from SUBSCRIBE to UNSUBSCRIBE or the end of the session. It is registered at the hub, or a replay
 * delivers to it.
 */
export class Subscription implements Receiver, Subscriber, Backlog {
  readonly id: string;
  /** Unique among all subscriptions that the session has ever had. */
  readonly number: number;
  readonly mode: AckMode;
  readonly #ports: SubscriptionPorts;
  readonly #prefix: MessagePrefix;
  readonly #dropQueue: DropQueue | null;
  #hub: Hub | null = null;
  #registration: Registration | null = null;
  #replay: Replay | null = null;
  #durable: string | null = null;
  #lastPosition = 0;
  #markers = 0;
  #ended = false;
  /** The client is a relay that has no room. */
  #held = false;
  /** Id of the SUBSCRIBE's receipt, if that is to say that not all matching events will be delivered (`narrowed`). */
  narrowedReceipt: string | null = null;

  constructor(id: string, number: number, mode: AckMode, slow: SlowPolicy, ports: SubscriptionPorts) {
    this.id = id;
    this.number = number;
    this.mode = mode;
    this.#ports = ports;
    this.#prefix = ports.prefixes.use(id, ports.version);
    this.#dropQueue =
      slow === 'disconnect'
        ? null
        : new DropQueue(slow, ports.queue, ports.metrics, (dropped) =>
            dropped === Number.POSITIVE_INFINITY
              ? this.#marker(null, LOST_UPSTREAM)
              : this.#marker(dropped, 'the client reads too slowly'),
          );
  }

  /** It is registered at the hub from now on. */
  attachToHub(hub: Hub, registration: Registration): void {
    this.#hub = hub;
    this.#registration = registration;
  }

  attachToReplay(replay: Replay, durable: string | null): void {
    this.#replay = replay;
    this.#durable = durable;
    this.#ports.queue.addBacklog(this);
  }

  /** Null for a plain subscription. */
  get replay(): Replay | null {
    return this.#replay;
  }

  /** The name under which the broker keeps its progress; null: it is not durable. */
  get durable(): string | null {
    return this.#durable;
  }

  /** Whether an event of that position may have been delivered: which of them were is known of durable ones only. */
  delivered(position: number): boolean {
    return position <= this.#lastPosition;
  }

  take(delivery: Delivery): void {
    if (this.#dropQueue === null) this.deliver(delivery, false);
    else if (this.mode === 'auto') this.#dropQueue.add(this.#prefix.frame(delivery));
    else this.#dropQueue.add(this.#prefix.frameWithHead(this.#head(delivery, false), delivery));
  }

  get ready(): boolean {
    return !this.#held && this.#ports.queue.ready;
  }

  deliver(delivery: Delivery, again: boolean): void {
    const { queue, version } = this.#ports;
    const usual = this.mode === 'auto' && !again;
    if (usual && this.#prefix.subscriptions > 1) queue.add(this.#prefix.frame(delivery));
    else queue.addMessage(usual ? this.#prefix.head : this.#head(delivery, again), delivery.tail(version));
  }

  missed(count: number, reason: string): void {
    this.#ports.queue.add(this.#marker(count, reason));
  }

  /** Events of an outage above are not delivered afterwards, except by replays, which go on where they were. */
  gap(): void {
    if (this.#replay !== null) return;
    if (this.#dropQueue === null) this.#ports.queue.add(this.#marker(null, LOST_UPSTREAM));
    else this.#dropQueue.gap();
  }

  receipt(id: string): void {
    const narrowed = id === this.narrowedReceipt;
    if (narrowed) this.narrowedReceipt = null;
    this.#ports.receipt(id, narrowed);
  }

  fail(error: MusterError, receipt: string | null): void {
    // Another subscription may have the same id by now.
    if (!this.#ended) this.#ports.fail(error, receipt, this.id);
    else if (receipt !== null) this.#ports.fail(error, receipt, null);
  }

  resume(): void {
    this.#replay?.resume();
  }

  /** Nothing is delivered until `release`. @param after What was delivered after that position is delivered again. */
  hold(after: number, receipt: string | null): void {
    this.#held = true;
    this.#replay?.takeBack(after, receipt);
  }

  release(): void {
    this.#held = false;
    this.resume();
  }

  /** @param forget The broker also deletes what it keeps of a durable subscription, and then sends the receipt. */
  end(forget: boolean, receipt: string | null): void {
    this.#ended = true;
    if (this.#registration !== null) this.#hub?.remove(this.#registration);
    this.#registration = null;
    this.#dropQueue?.close();
    this.#ports.queue.removeBacklog(this);
    this.#ports.prefixes.release(this.#prefix);
    this.#replay?.end(forget, receipt);
  }

  /** The bytes before the tail, with headers that differ from MESSAGE to MESSAGE: `ack` and `redelivered`. */
  #head(delivery: Delivery, again: boolean): Uint8Array {
    const { version } = this.#ports;
    this.#lastPosition = Math.max(this.#lastPosition, delivery.position);
    const ack = this.mode === 'auto' ? undefined : `${this.number}-${delivery.position}`;
    const head = messagePrefix(this.id, ack, version);
    return again ? concat([head, REDELIVERED]) : head;
  }

  /** A MESSAGE that tells that events are missing. @param dropped How many; null: unknown, perhaps none. */
  #marker(dropped: number | null, reason: string): OutFrame {
    const { version } = this.#ports;
    this.#markers += 1;
    const made = frame('MESSAGE', [
      ['subscription', this.id],
      ['destination', EVENTS_DESTINATION],
      ['message-id', `dropped-${this.number}-${this.#markers}`],
      ['type', 'fabric.dropped'],
      ...(dropped === null ? [] : [['dropped', String(dropped)] as const]),
      ['reason', reason],
    ]);
    return single(encodeFrame(made, version));
  }
}
