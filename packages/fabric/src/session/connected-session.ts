import type { Timer } from '@muster/base';
import type { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { OutboundQueue } from '../outbound/outbound-queue.js';
import { HeartBeat } from '../protocol/heart-beat.js';
import type { Login } from '../protocol/login.js';
import { type Frame, type Headers, header, type StompVersion } from '../stomp/frame.js';
import type { Channel } from '../transport/channel.js';
import type { SessionContext } from './context.js';
import { LoginRequests } from './login-requests.js';
import type { HeartBeat as Agreed } from './machine.js';
import { ClientPublisher } from './publishing/client-publisher.js';
import { SendHandler } from './publishing/send-handler.js';
import { needed } from './subscribing/subscribe-headers.js';
import { Subscriptions } from './subscribing/subscriptions.js';
import { Transactions } from './transactions.js';

const NOTHING: Headers = [];
const NARROWED: Headers = [['narrowed', 'true']];

export interface ConnectedSessionPorts {
  readonly context: Omit<SessionContext<unknown>, 'mayRead' | 'opened' | 'closed'>;
  readonly channel: Channel;
  readonly queue: OutboundQueue;
  readonly login: Login;
  /** Of type, attributes and body of an event. */
  readonly eventBytes: number;
  readonly version: StompVersion;
  readonly heartBeat: Agreed;
  /** @param more What it says besides. */
  receipt(id: string, more: Headers): void;
  /** An event could not be stored, or a subscription cannot go on: its id. */
  refused(error: MusterError, receipt: string | null, subscription: string | null): void;
  /** Everything published is stored or refused. */
  settled(): void;
  /** The client is dead. */
  silent(): void;
  /** The login holds no longer. */
  expired(): void;
}

/**
 * The parts of a session that exist while its client is logged in. Whatever is wrong with a frame is thrown as a
 * MusterError.
 */
export class ConnectedSession {
  readonly publisher: ClientPublisher;
  readonly sendHandler: SendHandler;
  readonly subscriptions: Subscriptions;
  readonly logins: LoginRequests;
  readonly heartBeat: HeartBeat;
  readonly #transactions = new Transactions();
  readonly #expiry: Timer | null;
  readonly #receipt: (id: string) => void;

  constructor(ports: ConnectedSessionPorts) {
    const { channel, context, heartBeat, login, queue, version } = ports;
    const { broker, clock, metrics, prefixes } = context;
    const { access, expiresMs } = login;
    const transactions = this.#transactions;
    const answer = (id: string, more: Headers) => {
      if (transactions.done(id)) ports.receipt(id, more);
    };
    const receipt = (id: string, narrowed = false) => answer(id, narrowed ? NARROWED : NOTHING);
    this.#receipt = receipt;
    this.heartBeat = new HeartBeat(
      { clock, write: (bytes) => queue.send(bytes), silent: ports.silent },
      { sendMs: heartBeat.sendMs, patienceMs: heartBeat.expectMs * FABRIC_LIMITS.missedIntervals },
    );
    this.publisher = new ClientPublisher(access, {
      pause: () => {
        this.heartBeat.pause();
        channel.pause();
      },
      resume: () => {
        this.heartBeat.resume();
        channel.resume();
      },
      receipt: (id, scheduled) => answer(id, scheduled === null ? NOTHING : [['scheduled', scheduled]]),
      refused: (error, id) => {
        metrics.eventsFailed += 1;
        if (id === null || transactions.failed(id)) ports.refused(error, id, null);
      },
      settled: ports.settled,
    });
    this.logins = new LoginRequests({
      access,
      version,
      login: (name, passcode) => broker.login(name, passcode, channel.remote),
      renew: (name, grounds) => broker.renew(name, grounds, channel.remote),
      send: (bytes) => queue.send(bytes),
    });
    this.sendHandler = new SendHandler({
      publisher: this.publisher,
      transactions,
      eventBytes: ports.eventBytes,
      publish: (publication) => {
        metrics.eventsIn += 1;
        this.publisher.published();
        broker.publish(publication);
      },
      receipt,
      login: (raw) => this.logins.take(raw),
      hold: (raw) => this.subscriptions.hold(raw.frame()),
      release: (raw) => this.subscriptions.release(raw.frame()),
    });
    this.subscriptions = new Subscriptions({
      access,
      version,
      queue,
      prefixes,
      metrics,
      transactions,
      hub: broker.hub(access),
      replay: (request) => broker.replay(request),
      receipt,
      fail: ports.refused,
    });
    this.#expiry = expiresMs === null ? null : clock.after(expiresMs - clock.now(), ports.expired);
  }

  /** Any frame but SEND, which goes to `publishing`, and DISCONNECT. */
  execute(frame: Frame): void {
    switch (frame.command) {
      case 'SUBSCRIBE':
        return this.subscriptions.subscribe(frame);
      case 'UNSUBSCRIBE':
        return this.subscriptions.unsubscribe(frame);
      case 'ACK':
      case 'NACK':
        return this.subscriptions.acknowledge(frame);
      case 'BEGIN':
        this.#transactions.begin(needed(frame, 'transaction'));
        return this.#answer(frame);
      case 'ABORT':
        this.#transactions.take('ABORT', needed(frame, 'transaction'));
        return this.#answer(frame);
      case 'COMMIT':
        return this.#commit(frame);
    }
  }

  /** A frame of that transaction was refused: it is over, if there is one. */
  abandon(transaction: string): void {
    this.#transactions.abandon(transaction);
  }

  /** subscriptions, transactions and timers end; events that were published are still answered. */
  end(): void {
    this.heartBeat.stop();
    this.#expiry?.cancel();
    this.#transactions.clear();
    this.subscriptions.clear();
  }

  /** The receipt says that everything in it was done. */
  #commit(frame: Frame): void {
    const frames = this.#transactions.take('COMMIT', needed(frame, 'transaction'));
    if (frames.length === 0) this.#answer(frame);
    else this.#transactions.commit(frames, header(frame, 'receipt') ?? null);
  }

  #answer(frame: Frame): void {
    const receipt = header(frame, 'receipt');
    if (receipt !== undefined) this.#receipt(receipt);
  }
}
