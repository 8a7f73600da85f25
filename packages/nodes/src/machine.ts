import type { AgentMessage, AgentState } from '@muster/wire';
import type { Owner } from './types.js';

/*
 * Two pure machines per node. Liveness (Push Jobs §4.4, §5.6.3) decides from heartbeats and time whether the node is up
 * or down; its changes are events of ownership (§5.5), which decides who handles the node's messages.
 */

// ---------------------------------------------------------------- liveness

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

// ---------------------------------------------------------------- ownership

export type NodeMessage = Exclude<AgentMessage, { type: 'heartbeat' }>;

export type RestartEnd = 'clean' | 'crash' | 'reinstalled';

export type OwnershipEvent =
  /** The server has started and no unfinished job has claimed the node back (§5.5.1, §5.5.4). */
  | { readonly type: 'loaded'; readonly untouched: boolean }
  | { readonly type: 'up' }
  | { readonly type: 'down' }
  | { readonly type: 'claim'; readonly jobId: string }
  /** At start-up only: an unfinished job takes its node back (N10). */
  | { readonly type: 'readopt'; readonly jobId: string }
  | { readonly type: 'release'; readonly jobId: string; readonly to: 'idle' | 'rehab'; readonly reason: string }
  /** `leftover`: it answers an abort that rehab sent before the node became idle. */
  | { readonly type: 'message'; readonly message: NodeMessage; readonly leftover: boolean }
  | { readonly type: 'heartbeat'; readonly state: AgentState; readonly jobId: string | null; readonly jobLive: boolean }
  /** The agent runs under another incarnation, or says that it has just started. */
  | { readonly type: 'restarted'; readonly end: RestartEnd }
  | { readonly type: 'rehab_tick' }
  /** The invariant of §5.5.3: an up node is always owned, by a job only while that job lives. */
  | { readonly type: 'check'; readonly status: 'up' | 'down'; readonly jobLive: boolean };

export type OwnershipEffect =
  | { readonly do: 'abort' }
  /** Hand what happened to the job that owned the node when it happened. */
  | { readonly do: 'tell'; readonly jobId: string }
  | { readonly do: 'drop'; readonly why: string }
  | { readonly do: 'violation'; readonly what: string };

export interface OwnershipStep {
  /** The same object as before when nothing changed. */
  readonly owner: Owner;
  readonly effects: readonly OwnershipEffect[];
}

const ABORT: OwnershipEffect = { do: 'abort' };
const NONE: readonly OwnershipEffect[] = [];

export function stepOwnership(owner: Owner, event: OwnershipEvent, at: number): OwnershipStep {
  const stay = (...effects: OwnershipEffect[]): OwnershipStep => ({ owner, effects });
  const rehab = (reason: string, ...before: OwnershipEffect[]): OwnershipStep => ({
    owner: { kind: 'rehab', since: at, reason },
    effects: [...before, ABORT],
  });

  switch (event.type) {
    case 'loaded':
      if (event.untouched && owner.kind === 'idle') {
        return {
          owner: { kind: 'rehab', since: at, reason: 'the server was restarted', untouched: true },
          effects: NONE,
        };
      }
      return owner.kind === 'down' ? stay() : rehab('the server has started');

    case 'up':
      return owner.kind === 'down' ? rehab('it came up') : stay();

    case 'down':
      if (owner.kind === 'down') return stay();
      return {
        owner: { kind: 'down' },
        effects: owner.kind === 'job' ? [{ do: 'tell', jobId: owner.jobId }] : NONE,
      };

    case 'claim':
      return owner.kind === 'idle' ? { owner: { kind: 'job', jobId: event.jobId }, effects: NONE } : stay();

    case 'readopt':
      // A job that was stored without its claims finds its nodes idle. What is down, in rehab or another job's stays so.
      if (owner.kind !== 'idle' && !(owner.kind === 'job' && owner.jobId === event.jobId)) return stay();
      return { owner: { kind: 'job', jobId: event.jobId }, effects: NONE };

    case 'release':
      if (owner.kind !== 'job' || owner.jobId !== event.jobId) return stay();
      return event.to === 'idle' ? { owner: { kind: 'idle' }, effects: NONE } : rehab(event.reason);

    case 'message':
      // Rehab may have aborted twice before the first answer came; the job must not take the second for its own.
      if (event.leftover && owner.kind === 'job') return stay({ do: 'drop', why: 'it answers an earlier abort' });
      return receive(owner, event.message, stay, rehab);

    case 'heartbeat':
      switch (owner.kind) {
        case 'job':
          return stay({ do: 'tell', jobId: owner.jobId });
        case 'idle':
          if (event.jobId === null) return stay();
          // §5.3.6: it is not part of that job, dead or alive.
          return rehab(`it reported ${event.jobLive ? 'a job it is not part of' : 'a job that is over'}`);
        case 'rehab':
          return owner.untouched && event.state === 'ready' && event.jobId === null
            ? { owner: { kind: 'idle' }, effects: NONE }
            : stay();
        case 'down':
          return stay();
      }
      break;

    case 'restarted':
      switch (owner.kind) {
        case 'job':
          return rehab(restartReason(event.end), { do: 'tell', jobId: owner.jobId });
        case 'idle':
          return rehab(restartReason(event.end));
        case 'rehab':
          return owner.untouched ? rehab(restartReason(event.end)) : stay();
        case 'down':
          return stay();
      }
      break;

    case 'rehab_tick':
      return owner.kind === 'rehab' ? stay(ABORT) : stay();

    case 'check': {
      const what = broken(owner, event.status, event.jobLive);
      if (what === null) return stay();
      const violation: OwnershipEffect = { do: 'violation', what };
      return event.status === 'down' ? { owner: { kind: 'down' }, effects: [violation] } : rehab(what, violation);
    }
  }
  return stay();
}

function receive(
  owner: Owner,
  message: NodeMessage,
  stay: (...effects: OwnershipEffect[]) => OwnershipStep,
  rehab: (reason: string) => OwnershipStep,
): OwnershipStep {
  switch (owner.kind) {
    case 'down':
      return stay({ do: 'drop', why: 'the node is down' });
    case 'rehab':
      // A command that is still being killed leaves the node in an unknown state: settled is what counts.
      if (message.type === 'aborted' && message.settled) return { owner: { kind: 'idle' }, effects: NONE };
      return stay({ do: 'drop', why: 'the node is in rehab' });
    case 'job':
      return stay({ do: 'tell', jobId: owner.jobId });
    case 'idle':
      switch (message.type) {
        // Left over from rehab or from connecting; rehab for these would bounce the node back and forth (§5.5.3).
        case 'aborted':
        case 'ready':
        case 'facts':
        case 'stopping':
          return stay();
        case 'ack':
        case 'nack':
        case 'started':
        case 'finished':
        case 'error':
        case 'crashed':
        case 'output':
          return rehab(`it sent ${message.type} while idle`);
      }
  }
}

function broken(owner: Owner, status: 'up' | 'down', jobLive: boolean): string | null {
  if (status === 'up' && owner.kind === 'down') return 'it was up, but nobody owned it';
  if (status === 'down' && owner.kind !== 'down') return `it was down, but owned by ${owner.kind}`;
  if (owner.kind === 'job' && !jobLive) return 'it was owned by a job that is over';
  return null;
}

function restartReason(end: RestartEnd): string {
  switch (end) {
    case 'clean':
      return 'its agent was restarted';
    case 'crash':
      return 'its agent crashed and came back';
    case 'reinstalled':
      return 'it was reinstalled';
  }
}
