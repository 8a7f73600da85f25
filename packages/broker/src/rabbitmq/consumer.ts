import type { Clock, Timer } from '@muster/base';
import type { AsyncMessage, Channel } from 'rabbitmq-client';
import { handle } from '../handling.js';
import type { Limits } from '../limits.js';
import { holdQueueOf } from '../topology.js';
import type { BrokerLog, ConsumeOptions, Consumer, Handler } from '../types.js';
import { declareHolds } from './declare.js';
import { type Attachment, type Place, RabbitDelivery, type Slot } from './delivery.js';
import { copyFor, deadLetterOf, received } from './incoming.js';
import { type Link, reasonOf } from './link.js';
import type { Outbound } from './outbound.js';
import { StandingChannel } from './standing-channel.js';

export interface ConsumerDeps {
  readonly link: Link;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
  readonly holder: string;
  /** The exchange for what is rejected in a queue, as it was declared. */
  deadLetterOf(queue: string): string | undefined;
  stopped(consumer: RabbitConsumer): void;
}

/** How the broker says that it has taken back what was not acknowledged in time. */
const TAKEN_BACK = /delivery acknowledgement .*timed out.* (\d+) ms/i;
/** Renewals in the time that the broker allows, so that one may come late. */
const RENEWALS = 4;

/**
 * Takes messages of one queue and keeps them in hand, for days if need be.
 *
 * **Slots.** Each slot is a consumer of its own at the broker with a prefetch of one, all on one channel: whoever holds a
 * message gets no other one, and each slot can be closed alone. The first slots of all consumers of a queue come before the second ones,
 * as priorities of the broker: so messages go to the process that has least in hand.
 *
 * **Holds.** The broker closes a channel on which a message has been unacknowledged for longer than its `consumer_timeout` (30
 * minutes unless set; RabbitMQ 3.10 knows no other value for one queue), and delivers all of it again. So what is in hand
 * for `LIMITS.holdMs` is renewed: a copy is published, with confirmation, to the process' own queue of holds; it arrives here
 * at once, and the older one is acknowledged. At each moment the broker has the message: nothing is lost when this process
 * is. The queue of holds has no other reader and, once this process is gone, no reader at all: what is then in it has outlived
 * its time to live (`LIMITS.orphanMs`, which does not run while somebody has it in hand) and goes back to the queue where it
 * came from, at once and by the broker alone. A renewed delivery has left its slot's consumer, which is closed for as long
 * as there is no room for another message. Where the broker's limit is shorter than that, it says so when it first closes a
 * channel, and from then on renewal comes in time.
 *
 * **Once more.** A message that comes again while it is in hand (the channel or connection was lost, somebody published it
 * twice) is attached to its delivery; the older attachment is acknowledged. The handler is not called again. What comes again
 * elsewhere is for the lease of its job to decide: that process hands it over, which is a copy to our queue of holds. And what
 * comes to the queue of holds without being in hand here goes back after `LIMITS.orphanMs`.
 *
 * A delivery that is settled while the broker does not count it as ours (`lost`) is remembered: it is acknowledged when it comes
 * here again. If it comes elsewhere, the handler there sees what became of it.
 */
export class RabbitConsumer implements Consumer {
  readonly queue: string;
  readonly #deps: ConsumerDeps;
  readonly #handler: Handler;
  readonly #most: number;
  readonly #heldLong: boolean;
  #slots: number;
  readonly #held = new Map<string, RabbitDelivery>();
  /** When each was last attached, by the monotonic clock; the oldest first. */
  readonly #attachedAt = new Map<RabbitDelivery, number>();
  /** Waiting for a message at the broker. */
  readonly #idle = new Set<Slot>();
  #opened = 0;
  /** Of the slots that are open. */
  readonly #ranks = new Set<number>();
  #adjusting = false;
  /** Settled without the broker knowing, or with a copy on its way. */
  readonly #done = new Set<string>();
  /** Older attachments on their way to be acknowledged. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #taking: StandingChannel;
  readonly #holding: StandingChannel | null;
  #renewal: Timer | undefined;
  #holdMs: number;
  #stopped = false;
  readonly #place: Place;

  constructor(queue: string, { slots, held = false }: ConsumeOptions, handler: Handler, deps: ConsumerDeps) {
    const { link, clock, log, limits } = deps;
    if (!(slots >= 1 && slots <= limits.slots)) throw new RangeError(`slots are 1 to ${limits.slots}`);
    this.queue = queue;
    this.#deps = deps;
    this.#handler = handler;
    this.#most = slots;
    this.#slots = slots;
    this.#heldLong = held;
    this.#holdMs = limits.holdMs;
    this.#place = {
      over: (delivery, end) => this.#over(delivery, end),
      copyTo: (delivery, holder) => this.#copyTo(delivery, holder),
      deadLetter: (delivery) => this.#deadLetter(delivery),
    };
    this.#taking = new StandingChannel({
      link,
      clock,
      log,
      limits,
      what: `queue ${queue}`,
      begin: (channel) => this.#begin(channel),
      ended: () => {
        this.#idle.clear();
        this.#ranks.clear();
      },
      refused: (error) => this.#hurry(error),
    });
    this.#holding = held
      ? new StandingChannel({
          link,
          clock,
          log,
          limits,
          what: `holds of queue ${queue}`,
          begin: (channel) => this.#beginHolding(channel),
          refused: (error) => this.#hurry(error),
        })
      : null;
    this.#taking.open();
    this.#holding?.open();
  }

  get held(): number {
    return this.#held.size;
  }

  setSlots(slots: number): void {
    if (!(slots >= 0 && slots <= this.#most)) throw new RangeError(`slots are 0 to ${this.#most}`);
    this.#slots = slots;
    void this.#adjust();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#renewal?.cancel();
    for (const delivery of this.#held.values()) delivery.giveBack();
    this.#held.clear();
    this.#attachedAt.clear();
    // Else what has another attachment, or had, would come again.
    await Promise.all(this.#leaving);
    // The broker gives back what was delivered over them.
    await Promise.all([this.#taking.close(), this.#holding?.close()]);
    this.#deps.stopped(this);
  }

  async #begin(channel: Channel): Promise<void> {
    await channel.basicQos({ prefetchCount: 1 });
    if (this.#slots > this.#held.size) await this.#open(channel);
    void this.#adjust();
  }

  async #beginHolding(channel: Channel): Promise<void> {
    const { holder, limits } = this.#deps;
    const name = await declareHolds(channel, this.queue, holder, limits);
    await channel.basicConsume({ queue: name }, (message) => this.#returned(channel, message));
  }

  async #open(channel: Channel): Promise<void> {
    this.#opened += 1;
    let rank = 0;
    while (this.#ranks.has(rank)) rank += 1;
    const slot: Slot = { consumerTag: `${this.#deps.holder}-${this.#opened}`, rank, delivery: null };
    this.#idle.add(slot);
    this.#ranks.add(rank);
    const { consumerTag } = slot;
    const options = { queue: this.queue, consumerTag, arguments: { 'x-priority': -rank } };
    try {
      await channel.basicConsume(options, (message) => this.#take(channel, slot, message));
    } catch (error) {
      this.#idle.delete(slot);
      this.#ranks.delete(rank);
      throw error;
    }
  }

  /**
   * Opens and closes slots, so that those that are idle and the deliveries in hand are never more than there may be. A slot
   * that is idle beyond `LIMITS.idleSlots` stays; no more are opened.
   */
  async #adjust(): Promise<void> {
    if (this.#adjusting) return;
    this.#adjusting = true;
    try {
      for (let channel = this.#taking.current; channel !== null; channel = this.#taking.current) {
        if (this.#stopped) return;
        const room = this.#slots - this.#held.size;
        if (this.#idle.size > Math.max(room, 0)) await this.#close(channel, lastOf(this.#idle));
        else if (this.#idle.size < Math.min(room, this.#deps.limits.idleSlots)) await this.#open(channel);
        else return;
      }
    } catch (err) {
      // Its channel is gone; the next one begins anew.
      this.#deps.log.info({ reason: reasonOf(err), queue: this.queue }, 'slots cannot be opened now');
    } finally {
      this.#adjusting = false;
    }
  }

  async #close(channel: Channel, slot: Slot): Promise<void> {
    this.#idle.delete(slot);
    this.#ranks.delete(slot.rank);
    await channel.basicCancel(slot.consumerTag);
  }

  #take(channel: Channel, slot: Slot, message: AsyncMessage): void {
    // What was delivered over a channel that is closed by now comes again.
    if (this.#stopped || !channel.active) return;
    const incoming = received(message);
    const { deliveryTag: tag } = message;
    if (this.#done.delete(incoming.id)) return channel.basicAck({ deliveryTag: tag });
    const known = this.#held.get(incoming.id);
    // Its slot is being closed, for there is no room.
    if (known === undefined && this.#held.size >= this.#slots)
      return channel.basicNack({ deliveryTag: tag, requeue: true });
    this.#idle.delete(slot);
    const delivery = known ?? new RabbitDelivery(incoming, this.queue, this.#place);
    this.#held.set(incoming.id, delivery);
    this.#attach(delivery, { channel, tag, slot });
    void this.#adjust();
    if (known === undefined) handle(this.#handler, delivery, this.#deps.log);
  }

  /** From the queue of holds. */
  #returned(channel: Channel, message: AsyncMessage): void {
    if (!channel.active) return;
    const { id } = received(message);
    const { deliveryTag: tag } = message;
    if (this.#done.delete(id)) return channel.basicAck({ deliveryTag: tag });
    const delivery = this.#held.get(id);
    if (delivery !== undefined) return this.#attach(delivery, { channel, tag, slot: null });
    const { clock, limits } = this.#deps;
    clock.after(limits.orphanMs, () => {
      if (!channel.active) return;
      const late = this.#held.get(id);
      if (late === undefined) channel.basicNack({ deliveryTag: tag, requeue: false });
      else this.#attach(late, { channel, tag, slot: null });
    });
  }

  #attach(delivery: RabbitDelivery, attachment: Attachment): void {
    const older = delivery.attach(attachment);
    if (attachment.slot !== null) attachment.slot.delivery = delivery;
    else delivery.copied = false;
    this.#attachedAt.delete(delivery);
    this.#attachedAt.set(delivery, this.#deps.clock.monotonic());
    this.#schedule();
    if (older === null) return;
    const leaving = this.#leave(older);
    this.#leaving.add(leaving);
    void leaving.finally(() => this.#leaving.delete(leaving));
  }

  /** The delivery has another attachment: this one is acknowledged, and its slot closed first unless there is room. */
  async #leave({ channel, tag, slot }: Attachment): Promise<void> {
    if (slot !== null) {
      slot.delivery = null;
      try {
        if (this.#idle.size + this.#held.size >= this.#slots) await this.#close(channel, slot);
        else this.#idle.add(slot);
      } catch {
        return;
      }
    }
    if (channel.active) channel.basicAck({ deliveryTag: tag });
  }

  #over(delivery: RabbitDelivery, end: 'gone' | 'back'): void {
    const { attachment } = delivery;
    this.#held.delete(delivery.id);
    this.#attachedAt.delete(delivery);
    if (end === 'gone' && (attachment === null || delivery.copied)) this.#remember(delivery.id);
    const slot = attachment?.slot;
    if (slot != null) {
      slot.delivery = null;
      this.#idle.add(slot);
    }
    void this.#adjust();
  }

  #remember(id: string): void {
    this.#done.add(id);
    const [oldest] = this.#done;
    if (this.#done.size > this.#deps.limits.remembered && oldest !== undefined) this.#done.delete(oldest);
  }

  async #copyTo(delivery: RabbitDelivery, holder: string): Promise<boolean> {
    try {
      await this.#deps.outbound.publish(copyFor(holdQueueOf(this.queue, holder), delivery));
      return true;
    } catch (err) {
      this.#deps.log.info({ reason: reasonOf(err), id: delivery.id, holder }, 'a message cannot be handed over now');
      return false;
    }
  }

  async #deadLetter(delivery: RabbitDelivery): Promise<boolean> {
    const exchange = this.#deps.deadLetterOf(this.queue);
    if (exchange === undefined) return true;
    try {
      await this.#deps.outbound.publish(deadLetterOf(delivery, this.queue, exchange));
      return true;
    } catch (err) {
      this.#deps.log.warn({ err, id: delivery.id }, 'a message cannot be rejected now: it is delivered again');
      return false;
    }
  }

  /** The broker is less patient than was thought. */
  #hurry(error: unknown): void {
    const allowed = Number(TAKEN_BACK.exec(reasonOf(error))?.[1]);
    const holdMs = allowed / RENEWALS;
    if (!this.#heldLong || !(holdMs > 0 && holdMs < this.#holdMs)) return;
    this.#holdMs = holdMs;
    this.#deps.log.info(
      { queue: this.queue, allowed_ms: allowed, renewed_after_ms: holdMs },
      'the broker takes back what is in hand for longer; it is renewed in time from now on',
    );
    this.#renewal?.cancel();
    this.#renewal = undefined;
    this.#schedule();
  }

  /** At the time of the oldest. */
  #schedule(): void {
    if (!this.#heldLong || this.#renewal !== undefined || this.#stopped) return;
    const [oldest] = this.#attachedAt.values();
    if (oldest === undefined) return;
    const { clock } = this.#deps;
    this.#renewal = clock.after(Math.max(oldest + this.#holdMs - clock.monotonic(), 0), () => {
      this.#renewal = undefined;
      void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { clock, log } = this.#deps;
    const now = clock.monotonic();
    const due: RabbitDelivery[] = [];
    for (const [delivery, attached] of this.#attachedAt) {
      if (attached + this.#holdMs > now) break;
      due.push(delivery);
    }
    let failed = 0;
    await Promise.all(
      due.map(async (delivery) => {
        // If no copy arrives, it is its turn again before long; what the broker has taken back comes by itself.
        this.#attachedAt.delete(delivery);
        this.#attachedAt.set(delivery, now);
        if (delivery.attachment === null || this.#holding?.current == null) return;
        delivery.copied = true;
        if (!(await this.#copyTo(delivery, this.#deps.holder))) failed += 1;
      }),
    );
    if (failed > 0) log.warn({ failed, queue: this.queue }, 'messages in hand cannot be renewed now');
    this.#schedule();
  }
}

function lastOf(slots: ReadonlySet<Slot>): Slot {
  return [...slots].reduce((last, slot) => (slot.rank > last.rank ? slot : last));
}
