import type { Channel } from 'rabbitmq-client';
import type { Death, Delivery, Headers, Settled } from '../types.js';
import type { Received } from './incoming.js';

/** Where the broker has noted that this process has a message in hand. */
export interface Attachment {
  readonly channel: Channel;
  readonly tag: number;
  /** Null: in the queue of holds. */
  readonly slot: Slot | null;
}

/** A consumer at the broker that takes one message at a time. */
export interface Slot {
  readonly consumerTag: string;
  /** Counted from 0: the fewer of a consumer are in use, the smaller is that which takes the next message. */
  readonly rank: number;
  delivery: RabbitDelivery | null;
}

/** What a delivery needs of its consumer. */
export interface Place {
  /** @param end What becomes of what may yet come of it. */
  over(delivery: RabbitDelivery, end: 'gone' | 'back'): void;
  /** A confirmed copy to the process; false: it cannot be reached. */
  copyTo(delivery: RabbitDelivery, holder: string): Promise<boolean>;
  /** The same to the dead letters of its queue. */
  deadLetter(delivery: RabbitDelivery): Promise<boolean>;
}

export class RabbitDelivery implements Delivery {
  readonly id: string;
  readonly queue: string;
  readonly exchange: string;
  readonly key: string;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly redelivered: boolean;
  readonly death: Death | null;
  /** The newest. Of an older one only what it is replaced by is left. */
  #attachment: Attachment | null = null;
  #state: 'in hand' | 'settling' | 'settled' | 'given back' = 'in hand';
  /** A copy was published, and has not come yet. */
  copied = false;
  readonly #place: Place;

  constructor({ id, exchange, key, headers, body, redelivered, death }: Received, queue: string, place: Place) {
    this.id = id;
    this.queue = queue;
    this.exchange = exchange;
    this.key = key;
    this.headers = headers;
    this.body = body;
    this.redelivered = redelivered;
    this.death = death;
    this.#place = place;
  }

  /** Null when its channel is gone: the broker has taken it back, and delivers it again, here or elsewhere. */
  get attachment(): Attachment | null {
    return this.#attachment?.channel.active ? this.#attachment : null;
  }

  /** It has come again. @returns the older attachment, if the broker still counts with it. */
  attach(attachment: Attachment): Attachment | null {
    const older = this.attachment;
    this.#attachment = attachment;
    return older;
  }

  async ack(): Promise<Settled> {
    return this.#begin() ? this.#end(acknowledge, 'gone') : 'lost';
  }

  async reject(): Promise<Settled> {
    if (!this.#begin()) return 'lost';
    // From the queue of holds the broker would move it to its own queue.
    if (this.attachment?.slot !== null) return this.#end(refuse, 'gone');
    if (await this.#place.deadLetter(this)) return this.#end(acknowledge, 'gone');
    this.#end(refuse, 'back');
    return 'lost';
  }

  async requeue(): Promise<Settled> {
    if (!this.#begin()) return 'lost';
    return this.#end(this.attachment?.slot === null ? refuse : giveBack, 'back');
  }

  async handOver(holder: string): Promise<Settled | 'refused'> {
    if (!this.#begin()) return 'lost';
    // What comes again of it may be all that is left of the copy: it is no message that is done with.
    if (await this.#place.copyTo(this, holder)) return this.#end(acknowledge, 'back');
    if (this.#state === 'settling') this.#state = 'in hand';
    return 'refused';
  }

  /** Its consumer ends: the broker delivers it to others. */
  giveBack(): void {
    this.#state = 'given back';
  }

  /** False: it was given back meanwhile. */
  #begin(): boolean {
    if (this.#state === 'given back') return false;
    if (this.#state !== 'in hand') throw new Error(`the message ${this.id} was settled before`);
    this.#state = 'settling';
    return true;
  }

  #end(tell: (channel: Channel, deliveryTag: number) => void, end: 'gone' | 'back'): Settled {
    if (this.#state === 'given back') return 'lost';
    this.#state = 'settled';
    const { attachment } = this;
    if (attachment !== null) tell(attachment.channel, attachment.tag);
    this.#place.over(this, end);
    return attachment === null ? 'lost' : 'settled';
  }
}

function acknowledge(channel: Channel, deliveryTag: number): void {
  channel.basicAck({ deliveryTag });
}

/** To wherever the queue sends its dead letters. */
function refuse(channel: Channel, deliveryTag: number): void {
  channel.basicNack({ deliveryTag, requeue: false });
}

function giveBack(channel: Channel, deliveryTag: number): void {
  channel.basicNack({ deliveryTag, requeue: true });
}
