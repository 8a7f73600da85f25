import { type Clock, systemClock, type Timer } from '@muster/base/clock';
import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Headers } from '../stomp/frame.js';
import { header } from '../stomp/frame.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { checkOptions } from './check-options.js';
import type { Connection } from './connection/connection.js';
import { Link } from './connection/link.js';
import { isPassing } from './connection/server-error.js';
import type { Acknowledge, EventMessage } from './events/event-message.js';
import { attributePairs, checkEvent, type EncodedEvent, encodeEvent } from './events/new-event.js';
import { LiveSubscription, type Resubscribe, type Subscription } from './events/subscription.js';
import { checkFields, invalid, numberWithin, type Rules, unfit } from './field-rules.js';
import type {
  ClientOptions,
  ClientStatus,
  Completion,
  Dial,
  NewEventOptions,
  PublishOptions,
  Receipt,
  RequestOptions,
  SubscribeOptions,
} from './types.js';

const TOKEN_BYTES = 16;
const REQUEST: Rules<RequestOptions> = { timeoutMs: numberWithin(0, FABRIC_LIMITS.completionMs, ' (milliseconds)') };

/** A client of the event fabric, made with `connect`. Stays connected until it is closed. */
export class Client {
  readonly #clock: Clock;
  readonly #link: Link;
  readonly #subscriptions = new Map<string, LiveSubscription>();
  /** Subscriptions whose program has enough events to read. */
  readonly #full = new Set<LiveSubscription>();
  readonly #onUnpublished: ClientOptions['onUnpublished'];
  #subscribed = 0;
  /** Requests that wait for their completions. */
  #requests = 0;
  /** Durable subscriptions that the server is told to forget, by id, and why it has ended one of itself meanwhile. */
  readonly #forgetting = new Map<string, MusterError | null>();
  /**
   * Settles when the events that are being signed are sent: later events wait for it, so that all are sent in order.
   */
  #signing: Promise<unknown> | null = null;

  /** @throws MusterError `invalid_field` for options that are none. */
  constructor(options: ClientOptions, dial: Dial) {
    checkOptions(options);
    this.#clock = options.clock ?? systemClock;
    this.#onUnpublished = options.onUnpublished;
    this.#link = new Link(options, dial, {
      connected: () => {
        for (const subscription of this.#subscriptions.values()) this.#send(subscription);
        this.#adjustReading();
      },
      message: (id, raw) => this.#message(id, raw),
      refused: (error, id) => (id === null ? this.#unpublished(error) : this.#ended(error, id)),
      lost: (error) => {
        for (const subscription of [...this.#subscriptions.values()]) {
          if (endedForGood(subscription, error)) {
            this.#remove(subscription);
            subscription.finish(error);
          } else subscription.interrupted();
        }
      },
      finished: (error) => {
        for (const subscription of this.#subscriptions.values()) subscription.finish(error);
        this.#subscriptions.clear();
      },
    });
  }

  get status(): ClientStatus {
    return this.#link.status;
  }

  /**
   * Connected: at once while it is, else with the next connection. Rejects with why there will be none: refused, out of
   * retries, or closed.
   */
  ready(): Promise<void> {
    return this.#link.ready;
  }

  /**
   * Lives until it is ended, whatever happens to connections. May be called at any time before `close`.
   * @throws MusterError `fabric_closed`
   */
  subscribe(options: SubscribeOptions = {}): Subscription {
    return this.#subscribe(options);
  }

  /**
   * Resolves when the server has stored the event. Sent once, and never kept for later.
   * @throws MusterError `invalid_field`, `fabric_not_connected`, `fabric_unconfirmed`: it may or may not have been
   * published, or what the server has against it
   */
  async publish(event: PublishOptions): Promise<Receipt> {
    const headers = await this.#sendInOrder(event, ({ headers, body }) =>
      this.#ask('SEND', headers, body, 'published'),
    );
    const scheduled = header({ headers }, 'scheduled');
    return scheduled === undefined ? {} : { scheduled };
  }

  /**
   * Without a receipt: nothing tells whether it arrived. What the server has against it hears `onUnpublished`; without
   * that, it ends the connection. Resolves when more may be sent. @throws MusterError `invalid_field`, `fabric_not_connected`
   */
  async publishNow(event: PublishOptions): Promise<void> {
    await this.#sendInOrder(event, async ({ headers, body }) => {
      const connection = this.#open();
      connection.send('SEND', headers, body);
      await connection.room();
    });
  }

  /**
   * Publishes a command and waits for its completion.
   * @throws MusterError `fabric_no_completion`, and as `publish`
   */
  async request(event: NewEventOptions, options: RequestOptions): Promise<Completion> {
    checkFields<RequestOptions>('options', options, REQUEST);
    const { timeoutMs } = options;
    if (timeoutMs === undefined) throw unfit('timeoutMs', REQUEST.timeoutMs, timeoutMs);
    checkEvent(event);
    if ('at' in event && event.at !== undefined)
      throw invalid('at', 'the completion of a future event is not waited for');
    this.#open();
    const token = event.token ?? randomToken();
    const selector = `type = 'complete' AND token = '${token.replaceAll("'", "''")}'`;
    // What comes while there is no connection is asked for afterwards: no other completion has this token.
    const waiting = this.#subscribe({ selector }, 'since');
    let timer: Timer | null = null;
    const late = new Promise<never>((_, reject) => {
      const tell = () => reject(new MusterError('fabric_no_completion', { seconds: timeoutMs / 1000 }));
      timer = this.#clock.after(timeoutMs, tell);
    });
    this.#requests += 1;
    this.#adjustReading();
    try {
      const answer = async () => {
        await waiting.ready;
        await this.publish({ ...event, token });
        for (;;) {
          const next = await waiting.next();
          // A note that events may be missing is no completion, which may still come.
          if (next.value?.isMarker !== true) return next;
        }
      };
      const { value: message } = await Promise.race([answer(), late]);
      if (message === undefined) throw new MusterError('fabric_closed');
      const error = message.get('error') ?? '';
      return { error: /^-?\d{1,9}$/.test(error) ? Number(error) : 1, message };
    } finally {
      (timer as Timer | null)?.cancel();
      this.#requests -= 1;
      this.#adjustReading();
      await waiting.unsubscribe();
    }
  }

  /**
   * Answers a command. @param error 0: it succeeded. @param more Further attributes, and a body.
   * @throws MusterError `invalid_field` for a command without a token, and as `publish`
   */
  async complete(
    command: EventMessage,
    error: number,
    more: Omit<NewEventOptions, 'type' | 'token'> = {},
  ): Promise<Receipt> {
    const token = command.get('token');
    if (token === undefined) throw new MusterError('invalid_field', { field: 'command', reason: 'it has no token' });
    if (!Number.isSafeInteger(error)) throw unfit('error', { expected: 'a whole number, 0 when it succeeded' }, error);
    const attributes = [['error', error] as const, ...attributePairs(more.attributes ?? [])];
    return this.publish({ ...more, type: 'complete', token, attributes });
  }

  /** Ends all subscriptions, waits for the receipts that are awaited, and closes. Twice is once. */
  close(): Promise<void> {
    for (const subscription of this.#subscriptions.values()) subscription.drop();
    this.#subscriptions.clear();
    return this.#link.close();
  }

  #subscribe(options: SubscribeOptions, again: Resubscribe = 'live'): LiveSubscription {
    if (this.#link.closed) throw new MusterError('fabric_closed');
    const subscription = new LiveSubscription(String(this.#subscribed + 1), options, again, {
      clock: this.#clock,
      acknowledge: () => this.#acknowledge(),
      changed: (each) => {
        if (each.full) this.#full.add(each);
        else this.#full.delete(each);
        this.#adjustReading();
      },
      leave: (each, forget) => this.#leave(each, forget),
    });
    this.#subscribed += 1;
    this.#subscriptions.set(subscription.id, subscription);
    this.#send(subscription);
    return subscription;
  }

  #send(subscription: LiveSubscription): void {
    this.#link.connection?.send('SUBSCRIBE', subscription.subscribe(), undefined, {
      answered: (headers) => {
        subscription.taken(headers);
        this.#adjustReading();
      },
      // The subscription is not tried again, nor on the next connection if the server ends this one because of it.
      refused: (error) => {
        this.#remove(subscription);
        subscription.finish(error);
      },
      lost: () => {},
    });
  }

  async #leave(subscription: LiveSubscription, forget: boolean): Promise<void> {
    this.#remove(subscription);
    if (this.#link.connection === null && !forget) return;
    const durable = forget && subscription.durable !== null ? [['durable', subscription.durable] as const] : [];
    const left = this.#ask('UNSUBSCRIBE', [['id', subscription.id], ...durable], undefined, 'forgotten');
    // If that fails, the subscription ends with the connection.
    if (!forget) return void (await left.catch(() => {}));
    this.#forgetting.set(subscription.id, null);
    try {
      await left;
    } catch (error) {
      throw this.#forgetting.get(subscription.id) ?? error;
    } finally {
      this.#forgetting.delete(subscription.id);
    }
  }

  #remove(subscription: LiveSubscription): void {
    this.#subscriptions.delete(subscription.id);
    this.#full.delete(subscription);
    this.#adjustReading();
  }

  /**
   * An event without a receipt was refused. False: nobody listens, and the connection must end so that it is noticed.
   */
  #unpublished(error: MusterError): boolean {
    this.#onUnpublished?.(error);
    return this.#onUnpublished !== undefined;
  }

  /** The server has ended a subscription. False: it is taken up again with the next connection. */
  #ended(error: MusterError, id: string): boolean {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) {
      if (this.#forgetting.has(id)) this.#forgetting.set(id, error);
      return true;
    }
    if (isPassing(error) && !endedForGood(subscription, error)) return false;
    this.#remove(subscription);
    subscription.finish(error);
    return true;
  }

  #message(id: string, raw: RawFrame): void {
    const subscription = this.#subscriptions.get(id);
    // The subscription has just ended, and the server did not know yet (L-3).
    if (subscription === undefined) return;
    try {
      subscription.take(raw);
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      subscription.finish(error);
      void this.#leave(subscription, false);
    }
  }

  /** How to acknowledge messages that come on the present connection. */
  #acknowledge(): Acknowledge {
    const { connection } = this.#link;
    return async (command, id) => {
      if (connection !== this.#link.connection) {
        throw new MusterError('fabric_unconfirmed', { reason: 'another one took its place', done: 'acknowledged' });
      }
      await this.#ask(command, [['id', id]], undefined, 'acknowledged');
    };
  }

  /** Sends and waits for the receipt, whose headers are the answer. */
  #ask(command: string, headers: Headers, body: Uint8Array | undefined, done: string): Promise<Headers> {
    return new Promise((resolve, reject) => {
      const settled = (settle: () => void) => {
        this.#adjustReading();
        settle();
      };
      this.#open().send(command, headers, body, {
        answered: (answer) => settled(() => resolve(answer)),
        refused: (error) => settled(() => reject(error)),
        lost: (reason) => settled(() => reject(new MusterError('fabric_unconfirmed', { reason, done }))),
      });
      this.#adjustReading();
    });
  }

  #open(): Connection {
    if (this.#link.closed) throw new MusterError('fabric_closed');
    const { connection } = this.#link;
    if (connection === null) throw new MusterError('fabric_not_connected');
    return connection;
  }

  #sendInOrder<T>(event: PublishOptions, send: (made: EncodedEvent) => Promise<T>): Promise<T> {
    const made = encodeEvent(event);
    if (this.#signing === null && !(made instanceof Promise)) return send(made);
    const turn = Promise.allSettled([made, this.#signing]).then(([own]) => {
      if (this.#signing === turn) this.#signing = null;
      if (own.status === 'rejected') throw own.reason;
      return { sent: send(own.value) };
    });
    this.#signing = turn;
    return turn.then(({ sent }) => sent);
  }

  /**
   * Stops reading from the connection when the program does not read its events, unless an answer is awaited behind
   * them.
   */
  #adjustReading(): void {
    const { connection } = this.#link;
    if (connection === null) return;
    connection.reads(this.#full.size === 0 || connection.pendingReceipts > 0 || this.#requests > 0);
  }
}

/** `randomUUID` is kept from pages that came over plain HTTP; this is not. */
function randomToken(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Whether this is the durable subscription that the server has ended: deleted, so that to send it again would bring it
 * back; or taken over, so that to send it again would take it from whoever has it now.
 */
function endedForGood({ durable }: LiveSubscription, { code, details }: MusterError): boolean {
  const ended = code === 'event_durable_deleted' || code === 'event_durable_taken';
  return ended && durable !== null && details.name === durable;
}
