import type { Delivery, Settled } from '@muster/broker';
import type { Connection, Kept } from './server.js';

/** Where the broker has noted that this process has a message in hand. */
export interface Attachment {
  readonly connection: Connection;
  readonly message: Kept;
}

export interface Place {
  isOpen(connection: Connection): boolean;
  /** Says it to the broker, if the connection lasts for so long. */
  tell(attachment: Attachment, what: 'ack' | 'requeue' | 'reject'): void;
  /** @param gone It is done with: what may yet come of it is no new message. */
  over(delivery: SimulatedDelivery, gone: boolean): void;
  handOver(message: Kept, holder: string): Promise<boolean>;
}

/** A delivery as those of RabbitMQ are: it outlives the connection over which it came. */
export class SimulatedDelivery implements Delivery {
  readonly id: string;
  readonly queue: string;
  readonly exchange: string;
  readonly key: string;
  readonly headers: Kept['headers'];
  readonly body: Buffer;
  readonly redelivered: boolean;
  readonly death: Kept['death'];
  readonly #place: Place;
  readonly #message: Kept;
  #attachment: Attachment | null = null;
  #state: 'in hand' | 'settled' | 'given back' = 'in hand';

  constructor(message: Kept, place: Place) {
    const { id, queue, exchange, key, headers, body, redelivered, death } = message;
    this.id = id;
    this.queue = queue;
    this.exchange = exchange;
    this.key = key;
    this.headers = headers;
    this.body = body;
    this.redelivered = redelivered;
    this.death = death;
    this.#message = message;
    this.#place = place;
  }

  /** null: its connection is lost, and the broker delivers it again. */
  get attachment(): Attachment | null {
    return this.#attachment !== null && this.#place.isOpen(this.#attachment.connection) ? this.#attachment : null;
  }

  /** It has come again: of the one before nothing is left. */
  attach(attachment: Attachment): void {
    const before = this.attachment;
    this.#attachment = attachment;
    if (before !== null) this.#place.tell(before, 'ack');
  }

  ack(): Promise<Settled> {
    return this.#settle('ack');
  }

  reject(): Promise<Settled> {
    return this.#settle('reject');
  }

  requeue(): Promise<Settled> {
    return this.#settle('requeue');
  }

  async handOver(holder: string): Promise<Settled | 'refused'> {
    if (this.#state === 'given back') return 'lost';
    if (!(await this.#place.handOver(this.#message, holder))) return 'refused';
    return this.#settle('ack', false);
  }

  /** Its consumer ends. */
  giveBack(): void {
    if (this.#state !== 'in hand') return;
    this.#state = 'given back';
    const { attachment } = this;
    if (attachment !== null) this.#place.tell(attachment, 'requeue');
  }

  /** @param gone What comes again of it is done with, too. */
  async #settle(what: 'ack' | 'requeue' | 'reject', gone = what !== 'requeue'): Promise<Settled> {
    if (this.#state === 'given back') return 'lost';
    if (this.#state === 'settled') throw new Error(`the message ${this.id} was settled before`);
    this.#state = 'settled';
    const { attachment } = this;
    if (attachment !== null) this.#place.tell(attachment, what);
    this.#place.over(this, gone && attachment === null);
    return attachment === null ? 'lost' : 'settled';
  }
}
