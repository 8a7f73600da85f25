import type { Clock } from '@muster/base/clock';
import type { MusterError } from '../errors.js';
import type { Channel, ChannelHandlers } from '../transport/channel.js';
import type { ConnectOptions } from '../transport/options.js';
import type { EventMessage } from './events/event-message.js';

export interface ClientOptions {
  /**
   * `stomp://`, `stomp+tls://`, `ws://`, `wss://`, and `unix:/PATH` of an agent; in browsers `ws://` and `wss://`. Of
   * several the next is tried each time.
   */
  readonly url: string | readonly string[];
  /** `ORG/NAME`. Needed, but for the socket of an agent, which takes anybody. */
  readonly login?: string;
  /**
   * An access token; or a function that makes one for each attempt, as a signed login is good once. If it throws or
   * rejects before the first connection, the client ends (`fabric_passcode`); later it is asked again with the next
   * attempt. Once there was a connection, a login that is refused is tried once more with another one of it, as the first may have become too old
   * on its way. Needed, but for the socket of an agent.
   */
  readonly passcode?: string | (() => string | Promise<string>);
  /** Header `host` of CONNECT, for brokers with virtual hosts. Default: the host of the URL. */
  readonly host?: string;
  /** Heart-beats offered both ways; 0: none. Default: `FABRIC_LIMITS.idleMs`. */
  readonly heartBeatMs?: number;
  /** Attempts after the first one failed, as long as there was no connection yet (L-4). Default: any number. */
  readonly retries?: number;
  /** What to do when a connection is lost; false: nothing, the client ends (L-2). */
  readonly reconnect?: false | Reconnect;
  /** Hears of every change, in order. */
  readonly onStatus?: (status: ClientStatus) => void;
  /**
   * Hears why an event of `publishNow` was not published. Without it, that ends the connection, so that it is noticed.
   */
  readonly onUnpublished?: (error: MusterError) => void;
  /** For one attempt to be logged in. Default: `FABRIC_LIMITS.connectMs`. */
  readonly timeoutMs?: number;
  /** Whom to trust; browsers decide that themselves. */
  readonly tls?: ConnectOptions['tls'];
  readonly clock?: Clock;
  /** At least 0, below 1. */
  readonly random?: () => number;
  readonly dial?: Dial;
}

export interface Reconnect {
  /** First pause; each one after it is twice as long. Default: 5 s (L-1). */
  readonly minMs?: number;
  /** Longest pause. */
  readonly maxMs?: number;
  /** Share by which a pause is made longer or shorter at random, 0 to 1, so that not all clients come at once. */
  readonly jitter?: number;
}

/** Opens a connection. The handlers hear nothing before it is resolved. */
export type Dial = (url: string, options: ConnectOptions, handlers: ChannelHandlers) => Promise<Channel>;

export type ClientStatus =
  /** `after`: why the attempt or connection before failed. */
  | { readonly state: 'connecting'; readonly url: string; readonly after: MusterError | null }
  /** Logged in, and all subscriptions are sent (again). */
  | { readonly state: 'connected'; readonly url: string }
  /** Events are missed from now on, except by subscriptions with `from` or `durable`. Null: no further attempt. */
  | { readonly state: 'lost'; readonly error: MusterError; readonly retryMs: number | null }
  /** The end. Null: by `close`. */
  | { readonly state: 'closed'; readonly error: MusterError | null };

export interface SubscribeOptions {
  /** SQL-92 conditional expression over attributes. Default: every event. */
  readonly selector?: string;
  /**
   * Begins in the past: `first`, a position (events after it), a time (ISO, with its zone), or how long ago (`-10s`,
   * `-30m`, `-1h`, `-2d`). After a lost connection it goes on after the last event, so that none is missed or repeated.
   */
  readonly from?: string | number;
  /** Name under which the server keeps how far this login has acknowledged. Needs an `ack` other than `auto`. */
  readonly durable?: string;
  /** Default `auto`. */
  readonly ack?: 'auto' | 'client' | 'client-individual';
  /** What the server does when we read too slowly. Default `disconnect`. */
  readonly slow?: 'disconnect' | 'drop-newest' | 'drop-oldest';
  /** Only events that are signed with this key are delivered. */
  readonly verify?: string | Uint8Array;
  /** Hears of events that were not, for the want of a valid signature. */
  readonly onRefused?: (event: EventMessage) => void;
  /** Events to keep while they are not read. Default: `FABRIC_LIMITS.clientEvents`. */
  readonly keep?: number;
}

/** Numbers and Booleans are sent as their text. */
export type AttributeValue = string | number | boolean;

/** In this order on the wire. An object gives each name once, and names that are whole numbers first. */
export type Attributes =
  | readonly (readonly [name: string, value: AttributeValue])[]
  | Readonly<Record<string, AttributeValue>>;

export interface NewEventOptions {
  /** `[A-Za-z0-9_.-]{1,128}` */
  readonly type: string;
  readonly attributes?: Attributes;
  /** Text is sent as UTF-8. */
  readonly body?: Uint8Array | string;
  /** Of the body, as `application/json`; no attribute, and not signed. */
  readonly contentType?: string;
  /** Attribute `token`, which completions repeat. */
  readonly token?: string;
  /** Key to sign with: adds the attribute `signature`. */
  readonly sign?: string | Uint8Array;
}

export interface PublishOptions extends NewEventOptions {
  /** When to publish it: a time (ISO, with its zone) or milliseconds since the epoch. Default: now. */
  readonly at?: string | number;
}

export interface RequestOptions {
  /** For the completion to come. */
  readonly timeoutMs: number;
}

/** The server has stored the event. */
export interface Receipt {
  /** Id of a future event. */
  readonly scheduled?: string;
}

/** Answer to a command. */
export interface Completion {
  /** 0: it succeeded. */
  readonly error: number;
  readonly message: EventMessage;
}
