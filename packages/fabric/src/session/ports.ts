import type { Expression } from '@muster/selector';
import type { MusterError } from '@muster/wire';
import type { EventAccess, PrincipalKind } from '../access.js';
import type { Delivery } from '../hub/delivery.js';
import type { Hub } from '../hub/hub.js';
import type { NewEvent } from '../root/event.js';
import type { Due, Login } from '../root/ports.js';

/** What sessions need of the root or the relay they belong to. */
export interface Broker {
  /** Rejects with a MusterError. `remote`: where the client is, or the relay that asks for its client. */
  login(login: string, passcode: string, remote: string): Promise<Login>;
  /** Judges a login again that was granted before; as `login`. */
  renew(login: string, grounds: string, remote: string): Promise<Login>;
  /** Where plain subscriptions of that login are kept. */
  hub(access: EventAccess): Hub;
  /**
   * Takes an event that was checked. Answers, for each in the order they were given, with `settled` of its publisher;
   * until then the event's bytes are not changed.
   */
  publish(publication: Publication): void;
  /** Takes a subscription with `from` or `durable`, which is not in the hub. */
  replay(request: ReplayRequest): Replay;
}

/** An event on its way to the log: for the root the next step, for a relay upstream. */
export interface Publication extends NewEvent {
  readonly publisher: Publisher;
  /** A future event; null: it is published now. */
  readonly due: Due | null;
  /** Of its RECEIPT; null: none was asked for. */
  readonly receipt: string | null;
}

/** Of a session, what publishing needs. */
export interface Publisher {
  readonly access: EventAccess;
  /** No longer there: nobody waits for receipts. */
  readonly gone: boolean;
  /** Stored by the root. `scheduled`: the id of a future event. */
  settled(publication: Publication, scheduled: string | null): void;
  /** Not stored; the session ends with an ERROR. */
  failed(publication: Publication, error: MusterError): void;
  /** Nothing more is read from it until `release`: too much waits already. */
  hold(): void;
  release(): void;
}

/** A subscription that begins in the past or goes on where it was left. */
export interface ReplayRequest {
  readonly subscriber: Subscriber;
  /** `ORG/NAME`: the owner of a durable subscription. The session's own, or whom a relay speaks for. */
  readonly principal: string;
  readonly kind: PrincipalKind;
  readonly org: string;
  /** Narrowed to what the session may follow. */
  readonly selector: Expression;
  /** As in the header; '' when there was none. */
  readonly selectorText: string;
  readonly from: From | null;
  /** As in the header. */
  readonly fromText: string | null;
  /** Name of the durable subscription, or null. */
  readonly durable: string | null;
  readonly ack: AckMode;
  /** Of the SUBSCRIBE's RECEIPT, which the broker lets the subscriber send; null: none was asked for. */
  readonly receipt: string | null;
}

export type AckMode = 'auto' | 'client' | 'client-individual';

/** The header `from`. */
export type From =
  /** Everything that is kept. */
  | { readonly kind: 'first' }
  /** Events after it. */
  | { readonly kind: 'position'; readonly position: number }
  /** Events not older than this time, in milliseconds since the epoch. */
  | { readonly kind: 'time'; readonly atMs: number }
  /** Events not older than that. */
  | { readonly kind: 'ago'; readonly ms: number };

/** The session's end of a replay. */
export interface Subscriber {
  /** False: the client has more than enough to read; `Replay.room` tells when it has not. */
  readonly ready: boolean;
  /** One MESSAGE. `again`: it was refused before. */
  deliver(delivery: Delivery, again: boolean): void;
  /** Puts a marker in the stream: so many events are missing here, and why. */
  missed(count: number, reason: string): void;
  receipt(id: string): void;
  /** Ends the session with an ERROR. */
  fail(error: MusterError, receipt: string | null): void;
}

/** The broker's end of a replay. */
export interface Replay {
  /** `receipt` is sent when the acknowledgement is saved. `cumulative`: everything before it, too. */
  ack(position: number, cumulative: boolean, receipt: string | null): void;
  /** Not taken: to be delivered again, a few times. */
  nack(position: number, cumulative: boolean, receipt: string | null): void;
  /** The client can take more. */
  room(): void;
  /** Unsubscribed, or the session is over. `forget`: what is kept of a durable subscription, too; then `receipt`. */
  end(forget: boolean, receipt: string | null): void;
}
