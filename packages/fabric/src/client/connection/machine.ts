import type { MusterError } from '../../errors.js';

/**
 * Whether a client is connected, and what it does about it when not (L-1, L-2, L-4). Pure: sockets, timers and
 * randomness are effects. `found`: it has been connected before, so that failures are outages. `refused`: the server
 * has refused the last attempt.
 */
export type LinkState =
  /** An attempt is under way. Ends with its result. */
  | { readonly kind: 'connecting'; readonly attempt: number; readonly found: boolean; readonly refused: boolean }
  /** Logged in. Ends when the connection is lost. */
  | { readonly kind: 'connected' }
  /** Between two attempts. Ends by the clock. */
  | {
      readonly kind: 'waiting';
      readonly attempt: number;
      readonly found: boolean;
      readonly refused: boolean;
      readonly error: MusterError;
    }
  /** The end: closed by the program, refused, or out of retries. */
  | { readonly kind: 'closed' };

export type LinkEvent =
  | { readonly type: 'connected' }
  /** The attempt failed, or the connection is lost. `final`: another attempt would fail as well. */
  | { readonly type: 'failed'; readonly error: MusterError; readonly final: boolean }
  | { readonly type: 'due' }
  | { readonly type: 'close' };

export type LinkEffect =
  /** `after`: why the attempt before failed. */
  | { readonly type: 'attempt'; readonly attempt: number; readonly after: MusterError | null }
  | { readonly type: 'wait'; readonly attempt: number }
  | { readonly type: 'stop_waiting' }
  | { readonly type: 'hang_up' }
  /** Every live subscription is sent again; then the program is told. */
  | { readonly type: 'found' }
  /** Told once for each loss. `again`: there will be attempts. */
  | { readonly type: 'lost'; readonly error: MusterError; readonly again: boolean }
  /** Nothing will happen any more. Null: as the program wished. */
  | { readonly type: 'finish'; readonly error: MusterError | null };

export interface LinkPolicy {
  /** After a connection was lost (L-2). */
  readonly reconnect: boolean;
  /** After the first attempt failed, before there was any connection (L-4). */
  readonly retries: number;
  /** Each attempt has a passcode of its own, which may have become too old on its way, as in a laptop that slept. */
  readonly renews: boolean;
}

export interface LinkStep {
  readonly state: LinkState;
  readonly effects: readonly LinkEffect[];
}

const CLOSED: LinkState = { kind: 'closed' };
const to = (state: LinkState, ...effects: LinkEffect[]): LinkStep => ({ state, effects });

export function begin(): LinkStep {
  return to(
    { kind: 'connecting', attempt: 0, found: false, refused: false },
    { type: 'attempt', attempt: 0, after: null },
  );
}

/** One event. Events that mean nothing in the present state change nothing. */
export function step(state: LinkState, event: LinkEvent, policy: LinkPolicy): LinkStep {
  if (state.kind === 'closed') return to(state);
  if (event.type === 'close') {
    return to(CLOSED, { type: state.kind === 'waiting' ? 'stop_waiting' : 'hang_up' }, { type: 'finish', error: null });
  }
  switch (state.kind) {
    case 'connecting':
      if (event.type === 'connected') return to({ kind: 'connected' }, { type: 'found' });
      if (event.type === 'failed') {
        const { error, final } = event;
        const { attempt, found, refused } = state;
        const over = final && !(policy.renews && found && !refused);
        if (over || (!found && attempt >= policy.retries)) return to(CLOSED, { type: 'finish', error });
        return to({ kind: 'waiting', attempt: attempt + 1, found, refused: final, error }, { type: 'wait', attempt });
      }
      return to(state);

    case 'connected': {
      if (event.type !== 'failed') return to(state);
      const { error, final } = event;
      const again = policy.reconnect && !final;
      if (!again) return to(CLOSED, { type: 'lost', error, again }, { type: 'finish', error });
      const waiting: LinkState = { kind: 'waiting', attempt: 1, found: true, refused: false, error };
      return to(waiting, { type: 'lost', error, again }, { type: 'wait', attempt: 0 });
    }

    case 'waiting': {
      if (event.type !== 'due') return to(state);
      const { attempt, found, refused, error } = state;
      return to({ kind: 'connecting', attempt, found, refused }, { type: 'attempt', attempt, after: error });
    }
  }
}
