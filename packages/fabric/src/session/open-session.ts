import type { MusterError, Timer } from '@muster/wire';
import type { Channel } from '../channel.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Login } from '../root/ports.js';
import { type Frame, type Headers, header, type StompVersion } from '../stomp/frame.js';
import { ClientPublisher } from './client-publisher.js';
import type { SessionContext } from './context.js';
import { HeartBeat } from './heart-beat.js';
import { LoginRequests } from './login-request.js';
import type { HeartBeat as Agreed } from './machine.js';
import type { Outlet } from './outlet.js';
import { Publishing } from './publishing.js';
import { needed } from './subscribe-headers.js';
import { Subscribing } from './subscribing.js';
import { Transactions } from './transactions.js';

const NOTHING: Headers = [];
const NARROWED: Headers = [['narrowed', 'true']];

export interface OpenPorts {
  readonly context: Omit<SessionContext<unknown>, 'mayRead' | 'opened' | 'closed'>;
  readonly channel: Channel;
  readonly outlet: Outlet;
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

/** What a session has while it is logged in. Whatever is wrong with a frame is thrown as a MusterError. */
export class OpenSession {
  readonly publisher: ClientPublisher;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
  readonly logins: LoginRequests;
  readonly heartBeat: HeartBeat;
  readonly #transactions = new Transactions();
  readonly #expiry: Timer | null;
  readonly #receipt: (id: string) => void;

  constructor(ports: OpenPorts) {
    const { channel, context, heartBeat, login, outlet, version } = ports;
    const { broker, clock, metrics, prefixes } = context;
    const { access, expiresMs } = login;
    const transactions = this.#transactions;
    const answer = (id: string, more: Headers) => {
      if (transactions.done(id)) ports.receipt(id, more);
    };
    const receipt = (id: string, narrowed = false) => answer(id, narrowed ? NARROWED : NOTHING);
    this.#receipt = receipt;
    this.heartBeat = new HeartBeat(
      { clock, write: (bytes) => outlet.send(bytes), silent: ports.silent },
      { sendMs: heartBeat.sendMs, patienceMs: heartBeat.expectMs * FABRIC_LIMITS.missedIntervals },
    );
    this.publisher = new ClientPublisher(access, {
      hold: () => {
        this.heartBeat.pause();
        channel.pause();
      },
      release: () => {
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
      send: (bytes) => outlet.send(bytes),
    });
    this.publishing = new Publishing({
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
    });
    this.subscribing = new Subscribing({
      access,
      version,
      outlet,
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
        return this.subscribing.subscribe(frame);
      case 'UNSUBSCRIBE':
        return this.subscribing.unsubscribe(frame);
      case 'ACK':
      case 'NACK':
        return this.subscribing.acknowledge(frame);
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

  /** whatever it had goes with it; what was published is still answered. */
  end(): void {
    this.heartBeat.stop();
    this.#expiry?.cancel();
    this.#transactions.clear();
    this.subscribing.clear();
  }

  /** The receipt says that everything in it was done. */
  #commit(frame: Frame): void {
    const held = this.#transactions.take('COMMIT', needed(frame, 'transaction'));
    if (held.length === 0) this.#answer(frame);
    else this.#transactions.commit(held, header(frame, 'receipt') ?? null);
  }

  #answer(frame: Frame): void {
    const receipt = header(frame, 'receipt');
    if (receipt !== undefined) this.#receipt(receipt);
  }
}
