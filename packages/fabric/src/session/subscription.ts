import type { MusterError } from '@muster/wire';
import type { Delivery } from '../hub/delivery.js';
import type { Hub, Place, Receiver } from '../hub/hub.js';
import type { FabricMetrics } from '../metrics.js';
import { EVENTS_DESTINATION } from '../root/stamp.js';
import { bytesOf } from '../stomp/bytes.js';
import { concat, encodeFrame } from '../stomp/encode.js';
import { frame, type StompVersion } from '../stomp/frame.js';
import { messagePrefix } from '../stomp/message.js';
import { type OutFrame, single } from './chain.js';
import { Lane, type SlowPolicy } from './lane.js';
import type { Outlet, Waiting } from './outlet.js';
import type { AckMode, Replay, Subscriber } from './ports.js';
import type { Prefix, Prefixes } from './prefix.js';

/** Why events may be missing below a relay that is back. */
const LOST_UPSTREAM = 'a relay had lost its upstream';
const REDELIVERED = bytesOf('redelivered:true\n');

/** Of the session that a subscription belongs to. */
export interface SubscriptionPorts {
  readonly version: StompVersion;
  readonly outlet: Outlet;
  readonly prefixes: Prefixes;
  readonly metrics: FabricMetrics;
  /** @param narrowed Of a SUBSCRIBE: see `narrowedReceipt`. */
  receipt(id: string, narrowed?: boolean): void;
  /** @param id of the subscription that cannot go on; null: it has ended before. */
  fail(error: MusterError, receipt: string | null, id: string | null): void;
}

/**
 * One SUBSCRIBE, from its start to UNSUBSCRIBE or the end of the session. It either has a place in the hub, or a replay
 * that feeds it.
 */
export class Subscription implements Receiver, Subscriber, Waiting {
  readonly id: string;
  /** Differs among all subscriptions of a session, also those that have ended. */
  readonly number: number;
  readonly mode: AckMode;
  readonly #ports: SubscriptionPorts;
  readonly #prefix: Prefix;
  readonly #lane: Lane | null;
  #hub: Hub | null = null;
  #place: Place | null = null;
  #replay: Replay | null = null;
  #durable: string | null = null;
  #lastPosition = 0;
  #markers = 0;
  #ended = false;
  /** Of its SUBSCRIBE, when not all that matches will be delivered, and the RECEIPT says so. */
  narrowedReceipt: string | null = null;

  constructor(id: string, number: number, mode: AckMode, slow: SlowPolicy, ports: SubscriptionPorts) {
    this.id = id;
    this.number = number;
    this.mode = mode;
    this.#ports = ports;
    this.#prefix = ports.prefixes.use(id, ports.version);
    this.#lane =
      slow === 'disconnect'
        ? null
        : new Lane(slow, ports.outlet, ports.metrics, (dropped) =>
            dropped === Number.POSITIVE_INFINITY
              ? this.#marker(null, LOST_UPSTREAM)
              : this.#marker(dropped, 'the client reads too slowly'),
          );
  }

  /** Where it is from now on. */
  live(hub: Hub, place: Place): void {
    this.#hub = hub;
    this.#place = place;
  }

  replayed(replay: Replay, durable: string | null): void {
    this.#replay = replay;
    this.#durable = durable;
    this.#ports.outlet.wait(this);
  }

  /** Null for a plain subscription. */
  get replay(): Replay | null {
    return this.#replay;
  }

  /** Under which name the broker keeps it; null: it ends with the session. */
  get durable(): string | null {
    return this.#durable;
  }

  /** Whether a message of that position was delivered, as far as is known: plain subscriptions do not keep what waits. */
  delivered(position: number): boolean {
    return position <= this.#lastPosition;
  }

  take(delivery: Delivery): void {
    if (this.#lane === null) this.deliver(delivery, false);
    else if (this.mode === 'auto') this.#lane.offer(this.#prefix.frame(delivery));
    else this.#lane.offer(this.#prefix.framed(this.#head(delivery, false), delivery));
  }

  get ready(): boolean {
    return this.#ports.outlet.ready;
  }

  deliver(delivery: Delivery, again: boolean): void {
    const { outlet, version } = this.#ports;
    const usual = this.mode === 'auto' && !again;
    if (usual && this.#prefix.users > 1) outlet.add(this.#prefix.frame(delivery));
    else outlet.message(usual ? this.#prefix.head : this.#head(delivery, again), delivery.tail(version));
  }

  missed(count: number, reason: string): void {
    this.#ports.outlet.add(this.#marker(count, reason));
  }

  /** of an outage above nothing comes afterwards, but what is replayed, which goes on where it was. */
  gap(): void {
    if (this.#replay !== null) return;
    if (this.#lane === null) this.#ports.outlet.add(this.#marker(null, LOST_UPSTREAM));
    else this.#lane.gap();
  }

  receipt(id: string): void {
    const narrowed = id === this.narrowedReceipt;
    if (narrowed) this.narrowedReceipt = null;
    this.#ports.receipt(id, narrowed);
  }

  fail(error: MusterError, receipt: string | null): void {
    // Another one may have the id by now.
    if (!this.#ended) this.#ports.fail(error, receipt, this.id);
    else if (receipt !== null) this.#ports.fail(error, receipt, null);
  }

  pump(): void {
    this.#replay?.room();
  }

  /** `forget`: what the broker keeps of a durable subscription, too; it sends the receipt then. */
  end(forget: boolean, receipt: string | null): void {
    this.#ended = true;
    if (this.#place !== null) this.#hub?.remove(this.#place);
    this.#place = null;
    this.#lane?.close();
    this.#ports.outlet.rest(this);
    this.#ports.prefixes.release(this.#prefix);
    this.#replay?.end(forget, receipt);
  }

  /** With headers that differ from message to message. */
  #head(delivery: Delivery, again: boolean): Uint8Array {
    const { version } = this.#ports;
    this.#lastPosition = Math.max(this.#lastPosition, delivery.position);
    const ack = this.mode === 'auto' ? undefined : `${this.number}-${delivery.position}`;
    const head = messagePrefix(this.id, ack, version);
    return again ? concat([head, REDELIVERED]) : head;
  }

  /** @param dropped Null: nobody knows how many, perhaps none. */
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
