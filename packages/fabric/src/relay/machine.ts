/**
 * The relay's state machine, exactly the sheet's START/PING, SERVING, DEGRADED and DROP. Pure: the
 * upstream connection, the listening sockets, the clients and the timer are effects.
 *
 * There is one upstream connection at most, and clients are only ever taken while it is ready.
 */
export type RelayState =
  /**
   * START and PING: nobody is connected from below and nothing listens (R-7, O-12, O-13). Ends when upstream is ready.
   */
  | { readonly kind: 'ping'; readonly probe: Probe; readonly served: boolean }
  /** Upstream is connected and holds our match-all subscription; clients come and go. Ends when upstream is lost. */
  | { readonly kind: 'serving' }
  /** Upstream is lost, but nobody below has noticed: clients stay, new ones find nothing listening. */
  | { readonly kind: 'degraded'; readonly probe: Probe }
  /** A message could not go up: all clients are being cut. Ends, at once, when nothing is left of them. */
  | { readonly kind: 'drop' }
  /** The end: told to stop, or unable to go on. */
  | { readonly kind: 'stopped' };

/** Without upstream there is either an attempt to reach it or a pause before the next. */
export type Probe = 'attempt' | 'pause';

export type RelayEvent =
  /** Upstream has confirmed the login and the match-all subscription. */
  | { readonly type: 'ready' }
  /** The attempt failed before it was ready. */
  | { readonly type: 'unreachable'; readonly reason: string }
  /** Upstream does not know us, or does not let us in. */
  | { readonly type: 'refused'; readonly reason: string }
  /** The connection that was ready is gone; `unconfirmed`: something sent up had not been confirmed. */
  | { readonly type: 'lost'; readonly reason: string; readonly unconfirmed: boolean }
  /** A client's message could not be sent, or was not confirmed in time (F4, O-2). */
  | { readonly type: 'send_failed'; readonly reason: string }
  | { readonly type: 'pause_over' }
  /** Every client of before the drop is gone, and so are the listening sockets. */
  | { readonly type: 'cleared' }
  | { readonly type: 'listen_failed'; readonly reason: string }
  | { readonly type: 'stop' };

export type RelayEffect =
  /** One attempt: connect, log in, subscribe to everything (B-1). */
  | { readonly type: 'connect' }
  /** Cut the upstream connection without sending what waits: nothing may arrive later. */
  | { readonly type: 'hang_up' }
  /** Wait for the retry interval, with jitter. */
  | { readonly type: 'pause' }
  | { readonly type: 'end_pause' }
  | { readonly type: 'listen' }
  | { readonly type: 'close_listeners' }
  /** What clients publish and ask for goes up this connection; what they asked for before is registered again. */
  | { readonly type: 'use_upstream' }
  /** Clients stayed through an outage: they learn that events may be missing, as nothing is sent afterwards. */
  | { readonly type: 'tell_gap' }
  | { readonly type: 'cut_clients'; readonly cause: CutCause; readonly reason: string }
  | { readonly type: 'fail'; readonly cause: FailCause; readonly reason: string };

export type CutCause = 'upstream_failed' | 'stopping';
export type FailCause = 'refused' | 'listen_failed';

export interface RelayStep {
  readonly state: RelayState;
  readonly effects: readonly RelayEffect[];
}

const connect: RelayEffect = { type: 'connect' };
const hangUp: RelayEffect = { type: 'hang_up' };
const pause: RelayEffect = { type: 'pause' };
const endPause: RelayEffect = { type: 'end_pause' };
const listen: RelayEffect = { type: 'listen' };
const closeListeners: RelayEffect = { type: 'close_listeners' };
const useUpstream: RelayEffect = { type: 'use_upstream' };
const tellGap: RelayEffect = { type: 'tell_gap' };
const cutClients = (cause: CutCause, reason: string): RelayEffect => ({ type: 'cut_clients', cause, reason });
const fail = (cause: FailCause, reason: string): RelayEffect => ({ type: 'fail', cause, reason });

const SERVING: RelayState = { kind: 'serving' };
const DROP: RelayState = { kind: 'drop' };
const STOPPED: RelayState = { kind: 'stopped' };
const ping = (probe: Probe, served: boolean): RelayState => ({ kind: 'ping', probe, served });
const degraded = (probe: Probe): RelayState => ({ kind: 'degraded', probe });

const to = (state: RelayState, ...effects: RelayEffect[]): RelayStep => ({ state, effects });

/** START: the first attempt is made at once. */
export const startRelayMachine: RelayStep = to(ping('attempt', false), connect);

/** One event. Events that mean nothing in the present state change nothing. */
export function step(state: RelayState, event: RelayEvent): RelayStep {
  const stay = to(state);
  if (state.kind === 'stopped') return stay;
  if (event.type === 'stop') return stopped(state, 'the relay is stopping');
  if (event.type === 'listen_failed') return stopped(state, event.reason, fail('listen_failed', event.reason));

  switch (state.kind) {
    case 'ping':
      switch (event.type) {
        case 'ready': // registered first, then clients are taken
          return state.probe === 'attempt' ? to(SERVING, useUpstream, listen) : stay;
        case 'refused': // A wrong passcode at the start is a mistake; later it may heal by itself
          if (state.probe !== 'attempt') return stay;
          return state.served ? to(ping('pause', true), pause) : to(STOPPED, fail('refused', event.reason));
        case 'unreachable': // only the server is probed
          return state.probe === 'attempt' ? to(ping('pause', state.served), pause) : stay;
        case 'pause_over':
          return state.probe === 'pause' ? to(ping('attempt', state.served), connect) : stay;
        default:
          return stay;
      }

    case 'serving':
      switch (event.type) {
        case 'lost': // R-10, O-3: silence keeps the clients; R-5: what was under way has failed
          return event.unconfirmed ? dropped(event.reason) : to(degraded('pause'), closeListeners, pause);
        case 'send_failed': // O-2: tried once
          return dropped(event.reason, hangUp);
        default:
          return stay;
      }

    case 'degraded':
      switch (event.type) {
        case 'ready': // registered again; R-10: what was published meanwhile is lost
          return state.probe === 'attempt' ? to(SERVING, useUpstream, tellGap, listen) : stay;
        case 'unreachable': // goes on, with its clients
        case 'refused':
          return state.probe === 'attempt' ? to(degraded('pause'), pause) : stay;
        case 'pause_over':
          return state.probe === 'pause' ? to(degraded('attempt'), connect) : stay;
        case 'send_failed': // not connected counts as failed at once (F4)
          return dropped(event.reason, ...endProbe(state.probe));
        default:
          return stay;
      }

    case 'drop':
      // into ping mode, with a pause so that an upstream that fails at once is not stormed
      return event.type === 'cleared' ? to(ping('pause', true), pause) : stay;
  }
}

/** every client and subscription goes, and all that listens; the message itself is discarded. */
function dropped(reason: string, ...before: RelayEffect[]): RelayStep {
  return to(DROP, ...before, closeListeners, cutClients('upstream_failed', reason));
}

function stopped(state: Exclude<RelayState, { kind: 'stopped' }>, reason: string, ...after: RelayEffect[]): RelayStep {
  const upstream = state.kind === 'ping' || state.kind === 'degraded' ? endProbe(state.probe) : [hangUp];
  return to(STOPPED, closeListeners, cutClients('stopping', reason), ...upstream, ...after);
}

function endProbe(probe: Probe): RelayEffect[] {
  return [probe === 'attempt' ? hangUp : endPause];
}
