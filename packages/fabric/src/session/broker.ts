import type { Expression } from '@muster/selector';
import type { MusterError } from '../errors.js';
import type { EventAccess, PrincipalKind } from '../event/access.js';
import type { Delivery } from '../event/delivery.js';
import type { NewEvent } from '../event/event.js';
import type { Hub } from '../hub/hub.js';
import type { Login } from '../protocol/login.js';
import type { ReplayStart } from '../protocol/replay-start.js';

/** What sessions need of the root or relay that they belong to. */
export interface Broker {
  /**
   * Checks login and passcode. Rejects with a MusterError. `remote`: address of the client, or of the relay that asks
   * for its client.
   */
  login(login: string, passcode: string, remote: string): Promise<Login>;
  /** Judges again a login that was granted before. Rejects as `login`. */
  renew(login: string, grounds: string, remote: string): Promise<Login>;
  /** The hub for subscriptions of that login. */
  hub(access: EventAccess): Hub;
  /**
   * Takes an event that was checked. Calls `settled` or `failed` of its publisher, in the order of the events. Until
   * then the event's bytes must not be changed.
   */
  publish(publication: Publication): void;
  /** Starts a subscription with `from` or `durable`, which the session does not register at the hub. */
  replay(request: ReplayRequest): Replay;
}

/** An event on its way to the log: for the root the next step, for a relay upstream. */
export interface Publication extends NewEvent {
  readonly publisher: Publisher;
  /** When a future event is to be published, in milliseconds since the epoch; null: now. */
  readonly due: number | null;
  /** Id of the receipt that was asked for, or null. */
  readonly receipt: string | null;
}

/** The session that publishes, as the broker sees it. */
export interface Publisher {
  readonly access: EventAccess;
  /** The session has ended: nobody waits for receipts. */
  readonly gone: boolean;
  /** The root has stored the event. `scheduled`: id of a future event. */
  settled(publication: Publication, scheduled: string | null): void;
  /** The event is not stored; the client gets a refusal or an ERROR. */
  failed(publication: Publication, error: MusterError): void;
  /** Backpressure: nothing is read from the client until `resume`, as too many events wait. */
  pause(): void;
  resume(): void;
}

/** A subscription that begins in the past (`from`) or goes on where it was (`durable`). */
export interface ReplayRequest {
  readonly subscriber: Subscriber;
  /** `ORG/NAME`, the owner of a durable subscription: the session's login, or the client that a relay speaks for. */
  readonly principal: string;
  readonly kind: PrincipalKind;
  readonly org: string;
  /** Restricted to what the session may follow. */
  readonly selector: Expression;
  /** As in the header; '' when there was none. */
  readonly selectorText: string;
  readonly from: ReplayStart | null;
  /** As in the header. */
  readonly fromText: string | null;
  /** Name of the durable subscription, or null. */
  readonly durable: string | null;
  readonly ack: AckMode;
  /**
   * Id of the receipt of the SUBSCRIBE, which the subscriber sends when the broker says so; null: none was asked for.
   */
  readonly receipt: string | null;
}

export type AckMode = 'auto' | 'client' | 'client-individual';

/** A replay's subscription, as the broker sees it. */
export interface Subscriber {
  /** False: the client has enough to read, or is a relay that holds this subscription. `Replay.resume` is called after. */
  readonly ready: boolean;
  /** Sends one MESSAGE. `again`: the client has refused it before (NACK). */
  deliver(delivery: Delivery, again: boolean): void;
  /** Sends a marker: so many events are missing at this point, and why. */
  missed(count: number, reason: string): void;
  receipt(id: string): void;
  /** Ends the session with an ERROR. */
  fail(error: MusterError, receipt: string | null): void;
}

/** A running replay, as the session sees it. */
export interface Replay {
  /** `receipt` is sent when the acknowledgement is saved. `cumulative`: it acknowledges all events before it, too. */
  ack(position: number, cumulative: boolean, receipt: string | null): void;
  /** The client refuses the event, which is delivered again a few times. */
  nack(position: number, cumulative: boolean, receipt: string | null): void;
  /** The client has room for more. */
  resume(): void;
  /**
   * What was delivered after that position did not reach the client: it is delivered again once the subscriber is
   * ready. `receipt` is sent when nothing is on its way any more that was delivered before.
   */
  takeBack(after: number, receipt: string | null): void;
  /**
   * The subscription or its session has ended. `forget`: what is kept of a durable subscription is deleted, then
   * `receipt` is sent.
   */
  end(forget: boolean, receipt: string | null): void;
}
