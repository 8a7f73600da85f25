import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Frame, StompVersion } from '../stomp/frame.js';

/**
 * The life of one client's connection, the same at the root and at a relay. Pure: parsing, logins, timers, queues and
 * the channel are effects. Here is which frames may come when, and what ends a session; what an open session does with
 * SEND, SUBSCRIBE and so on is in `open-session.ts`.
 */
export type SessionState =
  /** Connected, nothing said. Ends with the first frame, or after `loginMs`. */
  | { readonly kind: 'connecting' }
  /** The login is being checked, and nothing is read. Ends with the answer, or after `loginMs`. */
  | { readonly kind: 'authenticating'; readonly version: StompVersion; readonly heartBeat: HeartBeat }
  /** Logged in. Ends with DISCONNECT, a mistake, silence, slowness, or when the broker takes the login back. */
  | { readonly kind: 'connected' }
  /** DISCONNECT was read, and nothing is read any more. Ends when the events before it are stored or refused. */
  | { readonly kind: 'disconnecting'; readonly receipt: string | null }
  /** The last frame is written. Ends when the channel has closed. */
  | { readonly kind: 'closing' }
  /** The end. */
  | { readonly kind: 'closed' };

/** What was agreed, in milliseconds; 0: none. */
export interface HeartBeat {
  /** We send something at least that often. */
  readonly sendMs: number;
  /** The client does. */
  readonly expectMs: number;
}

/**
 * How a client wants to hear that a frame is not obeyed: ERROR ends the connection, a MESSAGE disturbs nothing else.
 */
export type RefusedBy = 'error' | 'message';

export interface SessionRules {
  /** Of heart-beats, both ways; what the client asks for may only be longer. */
  readonly idleMs: number;
  /** Clients need no login. */
  readonly anonymous: boolean;
}

export type SessionEvent =
  | { readonly type: 'frame'; readonly frame: Frame }
  | { readonly type: 'accepted' }
  /** The frame being read, the login or an event is refused. */
  | { readonly type: 'refused'; readonly error: MusterError; readonly receipt: string | null }
  | { readonly type: 'login_timeout' }
  /** Every event read before DISCONNECT is stored. */
  | { readonly type: 'settled' }
  /** The broker ends it, and the client is told why: too slow, revoked, stopping. */
  | { readonly type: 'cut'; readonly error: MusterError }
  /** At once and without a word: the peer is dead, or nothing it has sent may be read any more. */
  | { readonly type: 'destroyed' }
  | { readonly type: 'channel_closed' };

export type SessionEffect =
  | { readonly type: 'stop_login_timer' }
  | {
      readonly type: 'authenticate';
      readonly version: StompVersion;
      readonly refusedBy: RefusedBy;
      /** What it says of `send-timeout`: until then it waits for the answer to an event. */
      readonly sendMs: number | null;
      /** It wants to be told which types it may follow. */
      readonly asksRights: boolean;
      readonly login: string;
      readonly passcode: string;
    }
  | { readonly type: 'connected'; readonly version: StompVersion; readonly heartBeat: HeartBeat }
  /** A frame that `open-session.ts` knows what to do with. */
  | { readonly type: 'execute'; readonly frame: Frame }
  /** Tell when all events of this client are settled. */
  | { readonly type: 'settle' }
  | { readonly type: 'receipt'; readonly id: string }
  | { readonly type: 'error'; readonly error: MusterError; readonly receipt: string | null }
  /** Forget subscriptions, transactions and timers. */
  | { readonly type: 'release' }
  | { readonly type: 'end' }
  | { readonly type: 'destroy' };

export interface SessionStep {
  readonly state: SessionState;
  readonly effects: readonly SessionEffect[];
}

export const CONNECTING: SessionState = { kind: 'connecting' };
const CONNECTED: SessionState = { kind: 'connected' };
const CLOSING: SessionState = { kind: 'closing' };
const CLOSED: SessionState = { kind: 'closed' };

const stopTimer: SessionEffect = { type: 'stop_login_timer' };
const settle: SessionEffect = { type: 'settle' };
const release: SessionEffect = { type: 'release' };
const end: SessionEffect = { type: 'end' };
const destroy: SessionEffect = { type: 'destroy' };

const to = (state: SessionState, ...effects: SessionEffect[]): SessionStep => ({ state, effects });

/** One event. Events that mean nothing in the present state change nothing. */
export function step(state: SessionState, event: SessionEvent, rules: SessionRules): SessionStep {
  if (state.kind === 'closed') return to(state);
  if (event.type === 'channel_closed') return to(CLOSED, stopTimer, release);
  if (event.type === 'destroyed') return to(CLOSED, stopTimer, release, destroy);
  if (state.kind === 'closing') return to(state);
  if (event.type === 'refused') return refuse(event.error, event.receipt);
  if (event.type === 'cut') return refuse(event.error);

  switch (state.kind) {
    case 'connecting':
      switch (event.type) {
        case 'frame':
          return connect(event.frame, rules);
        case 'login_timeout':
          return refuse(new MusterError('stomp_opening_timeout'));
        default:
          return to(state);
      }

    case 'authenticating':
      switch (event.type) {
        case 'accepted':
          return to(CONNECTED, stopTimer, { type: 'connected', version: state.version, heartBeat: state.heartBeat });
        case 'login_timeout':
          return refuse(new MusterError('stomp_opening_timeout'));
        default:
          return to(state);
      }

    case 'connected':
      return event.type === 'frame' ? command(event.frame) : to(state);

    case 'disconnecting':
      if (event.type !== 'settled') return to(state);
      return state.receipt === null ? to(CLOSING, end) : to(CLOSING, { type: 'receipt', id: state.receipt }, end);
  }
}

/** STOMP: an ERROR is the last frame of a connection. */
function refuse(error: MusterError, receipt: string | null = null): SessionStep {
  return to(CLOSING, stopTimer, { type: 'error', error, receipt }, release, end);
}

/** The first frame. `host` is not asked for, though it should be there: there is one, and clients leave it out. */
function connect(frame: Frame, rules: SessionRules): SessionStep {
  const { command: name } = frame;
  if (name !== 'CONNECT' && name !== 'STOMP') {
    return refuse(new MusterError('stomp_not_connected', { command: name }), lookup(frame, 'receipt'));
  }
  const versions = lookup(frame, 'accept-version') ?? '1.0';
  const version = negotiate(versions);
  if (version === null) return refuse(new MusterError('stomp_version', { versions }));
  const heartBeat = agree(lookup(frame, 'heart-beat') ?? '0,0', rules.idleMs);
  if (heartBeat === null) {
    const reason = 'must be two numbers of milliseconds, such as 10000,10000';
    return refuse(new MusterError('stomp_header_value', { command: name, header: 'heart-beat', reason }));
  }
  const refusedBy = lookup(frame, 'refusals') ?? 'error';
  if (refusedBy !== 'error' && refusedBy !== 'message') {
    const reason = 'must be error or message';
    return refuse(new MusterError('stomp_header_value', { command: name, header: 'refusals', reason }));
  }
  const sendTimeout = lookup(frame, 'send-timeout');
  const sendMs = sendTimeout === null ? null : Number(sendTimeout);
  if (sendMs !== null && !(Number.isSafeInteger(sendMs) && sendMs >= FABRIC_LIMITS.leastSendMs)) {
    const reason = `must be a number of milliseconds, at least ${FABRIC_LIMITS.leastSendMs}`;
    return refuse(new MusterError('stomp_header_value', { command: name, header: 'send-timeout', reason }));
  }
  const rights = lookup(frame, 'rights');
  if (rights !== null && rights !== 'follow') {
    const reason = 'must be follow';
    return refuse(new MusterError('stomp_header_value', { command: name, header: 'rights', reason }));
  }
  const login = lookup(frame, 'login');
  const passcode = lookup(frame, 'passcode');
  for (const [header, value] of [
    ['login', login],
    ['passcode', passcode],
  ] as const) {
    if (value === null && !rules.anonymous) {
      return refuse(new MusterError('stomp_missing_header', { command: name, header }));
    }
  }
  return to(
    { kind: 'authenticating', version, heartBeat },
    {
      type: 'authenticate',
      version,
      refusedBy,
      sendMs,
      asksRights: rights !== null,
      login: login ?? '',
      passcode: passcode ?? '',
    },
  );
}

/** A frame in an open session. */
function command(frame: Frame): SessionStep {
  const { command: name } = frame;
  const receipt = lookup(frame, 'receipt');
  switch (name) {
    case 'SEND':
    case 'SUBSCRIBE':
    case 'UNSUBSCRIBE':
    case 'ACK':
    case 'NACK':
    case 'BEGIN':
    case 'COMMIT':
    case 'ABORT':
      return to(CONNECTED, { type: 'execute', frame });
    case 'DISCONNECT':
      return to({ kind: 'disconnecting', receipt }, release, settle);
    case 'CONNECT':
    case 'STOMP':
      return refuse(new MusterError('stomp_connected', { command: name }), receipt);
    default:
      return refuse(new MusterError('stomp_server_frame', { command: name }), receipt);
  }
}

const KNOWN: readonly StompVersion[] = ['1.2', '1.1', '1.0'];

/** The highest version that both know. */
export function negotiate(accepted: string): StompVersion | null {
  const offered = accepted.split(',').map((version) => version.trim());
  return KNOWN.find((version) => offered.includes(version)) ?? null;
}

/** STOMP 1.2, "Heart-beating": each way the slower of what one side offers and the other asks for, or none at all. */
export function agree(header: string, idleMs: number): HeartBeat | null {
  const found = /^\s*(\d{1,9})\s*,\s*(\d{1,9})\s*$/.exec(header);
  if (found === null) return null;
  const way = (clientMs: number) => (clientMs === 0 || idleMs === 0 ? 0 : Math.max(clientMs, idleMs));
  return { sendMs: way(Number(found[2])), expectMs: way(Number(found[1])) };
}

function lookup(frame: Frame, wanted: string): string | null {
  for (const [name, value] of frame.headers) if (name === wanted) return value;
  return null;
}
