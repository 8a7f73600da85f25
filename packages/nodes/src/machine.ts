/** Liveness (Push Jobs §4.4, §5.6.3): decides from heartbeats and time whether a node is up or down. */

export interface LivenessRules {
  readonly intervalMs: number;
  /** Missed intervals in a row until the node is down. */
  readonly offlineThreshold: number;
  /** Intervals heard in a row until a node that was judged down is up again. */
  readonly onlineThreshold: number;
}

export type Liveness =
  /** Heard within `offlineThreshold` intervals; ends by that many intervals of silence. */
  | { readonly status: 'up'; readonly heardAt: number }
  /**
   * Silent. Ends when heartbeats have come without a gap over `onlineThreshold` intervals, or with the first one when
   * the node has just fetched its configuration: the agent starts online then for the same reason (N3).
   */
  | {
      readonly status: 'down';
      readonly fresh: boolean;
      readonly run: { readonly from: number; readonly last: number } | null;
    };

export type LivenessEvent =
  | { readonly type: 'configured' }
  | { readonly type: 'heartbeat'; readonly at: number }
  | { readonly type: 'sweep'; readonly at: number }
  /** The node has said that it stops: waiting for its silence would only keep it in jobs it cannot do. */
  | { readonly type: 'stopping' };

const DOWN: Liveness = { status: 'down', fresh: false, run: null };

/** A node nothing was heard of since this server started. */
export const neverHeard: Liveness = DOWN;

export function stepLiveness(state: Liveness, event: LivenessEvent, rules: LivenessRules): Liveness {
  switch (event.type) {
    case 'configured':
      return state.status === 'up' ? state : { ...state, fresh: true };
    case 'heartbeat':
      if (state.status === 'up' || state.fresh) return { status: 'up', heardAt: event.at };
      return hearAgain(state.run, event.at, rules);
    case 'stopping':
      return DOWN;
    case 'sweep':
      // The clock was set back: the silence of the time that comes twice must not go unnoticed.
      if (state.status === 'up' && state.heardAt > event.at + returnMs(rules)) return { ...state, heardAt: event.at };
      return state.status === 'up' && missedIntervals(state.heardAt, event.at, rules) >= rules.offlineThreshold
        ? DOWN
        : state;
  }
}

/**
 * A node that lost the server hears its heartbeat again, waits its splay (sheet §5.5), and has to hear it for
 * `onlineThreshold` intervals before it may send (Push Jobs §4.3). Without this time every node of a running job
 * would be down, and crashed, after an outage longer than the node's own offline threshold (N10).
 */
export function returnMs({ intervalMs, onlineThreshold }: LivenessRules): number {
  return (RETURN_INTERVALS + onlineThreshold) * intervalMs;
}

const RETURN_INTERVALS = 2;

/** Whole intervals without a heartbeat. */
export function missedIntervals(heardAt: number, now: number, rules: LivenessRules): number {
  return Math.max(0, Math.floor((now - heardAt) / rules.intervalMs));
}

/** Rounding makes room for jitter: heartbeats 0.5 to 1.5 intervals apart are consecutive, a burst counts as one interval. */
function hearAgain(
  run: { readonly from: number; readonly last: number } | null,
  at: number,
  rules: LivenessRules,
): Liveness {
  const unbroken = run !== null && at >= run.last && Math.round((at - run.last) / rules.intervalMs) <= 1;
  const from = unbroken ? run.from : at;
  const heard = 1 + Math.round((at - from) / rules.intervalMs);
  return heard >= rules.onlineThreshold
    ? { status: 'up', heardAt: at }
    : { status: 'down', fresh: false, run: { from, last: at } };
}
