import type { Clock } from '@muster/base/clock';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { isDurableName } from '../../protocol/durable-name.js';
import { laterAgo, parseFrom, secondsAgo } from '../../protocol/replay-start.js';
import { type Headers, header } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import { checkFields, FUNCTION, integerFrom, KEY, oneOf, type Rules } from '../field-rules.js';
import type { SubscribeOptions } from '../types.js';
import { type Acknowledge, EventMessage } from './event-message.js';
import { EventQueue, type Next } from './event-queue.js';
import { verifier } from './signature.js';

/**
 * Events that match, in the order of the wire. Leaving a `for await` loop ends the subscription. When the program does
 * not read, the client stops reading from the connection, for all its subscriptions.
 */
export interface Subscription extends AsyncIterableIterator<EventMessage, undefined, undefined> {
  readonly id: string;
  /** The server has taken it, for the first time. Rejects with what it has against it, as the iteration does. */
  readonly ready: Promise<void>;
  /** Events may match that are not delivered, as the login may not follow them. Known when it is ready. */
  readonly narrowed: boolean;
  /** Events that were not delivered for the want of a valid signature. */
  readonly refused: number;
  /**
   * No more events, also none of those that are there (L-3). `forget`: what the server keeps of a durable one is
   * removed, too. @throws MusterError `fabric_not_connected`, `fabric_unconfirmed`: it may not be forgotten
   */
  unsubscribe(options?: { readonly forget?: boolean }): Promise<void>;
}

/** Of the client. */
export interface SubscriptionPorts {
  readonly clock: Clock;
  readonly acknowledge: () => Acknowledge;
  /** `full` has changed. */
  readonly changed: (subscription: LiveSubscription) => void;
  /** Takes it out; at the server, too. */
  readonly leave: (subscription: LiveSubscription, forget: boolean) => Promise<void>;
}

/**
 * What is asked for after a lost connection: events from then on, or also those since the subscription was made. One
 * with `from` goes on after its last event.
 */
export type Resubscribe = 'live' | 'since';

interface Received {
  readonly event: EventMessage;
  /** Null: nothing is to be verified. */
  readonly valid: Promise<boolean> | null;
}

const DONE: IteratorResult<never, undefined> = { done: true, value: undefined };
/** Clocks do not run equally fast. */
const MARGIN_MS = 5000;

const OPTIONS: Rules<SubscribeOptions> = {
  selector: {
    fits: (value) => typeof value === 'string' && !value.includes('\0'),
    expected: "a text without NUL, such as type = 'a'",
  },
  from: {
    fits: (value) => ['string', 'number'].includes(typeof value) && parseFrom(String(value)) !== null,
    expected: 'first, a position, a time with its zone such as 2026-11-20T12:00:00Z, or how long ago such as -1h',
  },
  durable: {
    fits: (value) => typeof value === 'string' && isDurableName(value),
    expected: '1 to 128 of A-Z a-z 0-9 _ . -',
  },
  ack: oneOf('auto', 'client', 'client-individual'),
  slow: oneOf('disconnect', 'drop-newest', 'drop-oldest'),
  verify: KEY,
  onRefused: FUNCTION,
  keep: integerFrom(1),
};

export class LiveSubscription implements Subscription {
  readonly id: string;
  readonly ready: Promise<void>;
  readonly durable: string | null;
  readonly #options: SubscribeOptions;
  readonly #resubscribe: Resubscribe;
  readonly #ports: SubscriptionPorts;
  readonly #queue: EventQueue<Received>;
  readonly #verify: ReturnType<typeof verifier> | null;
  readonly #sinceMs: number;
  #taken: () => void = () => {};
  #rejected: (error: MusterError) => void = () => {};
  #sent = false;
  /** The server has said that it has it. */
  #known = false;
  #last: number | null = null;
  #refused = 0;
  #narrowed = false;
  /** No more events come. */
  #finished = false;
  /** None is delivered. */
  #over = false;

  /** @throws MusterError `invalid_field` */
  constructor(id: string, options: SubscribeOptions, again: Resubscribe, ports: SubscriptionPorts) {
    checkFields<SubscribeOptions>('options', options, OPTIONS);
    this.id = id;
    this.durable = options.durable ?? null;
    this.#options = options;
    this.#resubscribe = again;
    this.#ports = ports;
    this.#sinceMs = ports.clock.monotonic();
    this.#verify = options.verify === undefined ? null : verifier(options.verify);
    this.#queue = new EventQueue(options.keep ?? FABRIC_LIMITS.clientEvents, () => ports.changed(this));
    this.ready = new Promise((resolve, reject) => {
      this.#taken = resolve;
      this.#rejected = reject;
    });
    // The iteration says it as well.
    this.ready.catch(() => {});
  }

  get narrowed(): boolean {
    return this.#narrowed;
  }

  get refused(): number {
    return this.#refused;
  }

  /** The program has enough to read. */
  get full(): boolean {
    return this.#queue.full;
  }

  /** Of the next SUBSCRIBE. */
  subscribe(): Headers {
    const { selector, ack, durable, slow } = this.#options;
    const from = this.#from();
    this.#sent = true;
    const headers: [string, string | undefined][] = [
      ['id', this.id],
      ['destination', '/topic/events'],
      ['selector', selector === '' ? undefined : selector],
      ['ack', ack ?? 'auto'],
      ['from', from],
      ['durable', durable],
      ['slow', slow],
    ];
    return headers.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  }

  /** With the headers of the RECEIPT. */
  taken(headers: Headers): void {
    this.#known = true;
    this.#narrowed = header({ headers }, 'narrowed') === 'true';
    this.#taken();
  }

  /** A MESSAGE. @throws MusterError `fabric_slow_subscriber` */
  take(raw: RawFrame): void {
    const event = new EventMessage(raw, this.#ports.acknowledge());
    if (event.position !== null) this.#last = event.position;
    // The server's own notes are not signed, and nobody else can make them.
    const verify = event.isMarker ? null : this.#verify;
    const valid = verify === null ? null : verify(event.attributes, event.body());
    valid?.catch(() => {});
    this.#queue.push({ event, valid }, event.size);
    if (this.#queue.overflowed) {
      throw new MusterError('fabric_slow_subscriber', { limit: FABRIC_LIMITS.clientBytes });
    }
  }

  /** The connection is lost: of a durable one the server delivers again what was not acknowledged, in order. */
  interrupted(): void {
    if (this.durable !== null) this.#queue.clear();
  }

  /** The end, after what is there was read. */
  finish(error: MusterError | null): void {
    this.#finished = true;
    this.#rejected(error ?? new MusterError('fabric_closed'));
    this.#queue.finish(error);
  }

  /** The end, at once. */
  drop(): void {
    this.#over = true;
    this.#rejected(new MusterError('fabric_closed'));
    this.#queue.drop();
  }

  async next(): Next<EventMessage> {
    for (;;) {
      const result = await this.#queue.next();
      if (result.done === true) return DONE;
      const { event, valid } = result.value;
      const delivered = valid === null || (await valid);
      if (this.#over) return DONE;
      if (delivered) return { done: false, value: event };
      this.#refused += 1;
      this.#options.onRefused?.(event);
    }
  }

  async return(): Next<never> {
    await this.unsubscribe();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async unsubscribe({ forget = false }: { readonly forget?: boolean } = {}): Promise<void> {
    const gone = this.#finished || this.#over;
    this.drop();
    // The server knows nothing of it any more.
    if (gone && forget) throw new MusterError('fabric_closed');
    if (!gone) await this.#ports.leave(this, forget);
  }

  /** Where to go on: after the last event that came, so that none is missed or repeated. */
  #from(): string | undefined {
    const { from, durable } = this.#options;
    if (!this.#sent) return from === undefined ? undefined : String(from);
    // Of a durable one the server knows best, once it has it.
    if (durable !== undefined && this.#known) return undefined;
    const elapsedMs = this.#ports.clock.monotonic() - this.#sinceMs;
    if (durable !== undefined) return from === undefined ? undefined : laterAgo(String(from), elapsedMs);
    if (from === undefined) return this.#resubscribe === 'since' ? secondsAgo(elapsedMs + MARGIN_MS) : undefined;
    return this.#last === null ? laterAgo(String(from), elapsedMs) : String(this.#last);
  }
}
