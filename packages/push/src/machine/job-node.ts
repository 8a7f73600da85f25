import type { AgentState, CommandResult } from '@muster/wire';
import {
  FINAL_PUSH_JOB_NODE_STATUSES,
  type FinalPushJobNodeStatus,
  type FinalPushJobStatus,
  type PushJobNodeStatus,
  type PushJobPhase,
} from '../types.js';
import type { Tally } from './job-machine.js';

/**
 * One node inside one job (Push Jobs §5.3.3-5.3.7, sheet §6.2). Final statuses never change; a node leaves the job
 * in the same step that makes it final, to idle when it behaved and is known to be free, else to rehab.
 */
export interface JobNode {
  readonly status: PushJobNodeStatus;
  /** Start was sent; until `started` or a result arrives the command may or may not run. */
  readonly starting: boolean;
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly startedAt: number | null;
  /** Heartbeats in a row that contradict the status. */
  readonly contradictions: number;
  /**
   * While `new`: it was busy, so it waits for its `turn` in the hands of another owner, or has been asked since and its
   * `vote` is due. Not stored: whose the node is tells it after a restart.
   */
  readonly waits: 'turn' | 'vote' | null;
}

export const NEW_NODE: JobNode = {
  status: 'new',
  starting: false,
  reason: null,
  exitCode: null,
  signal: null,
  startedAt: null,
  contradictions: 0,
  waits: null,
};

/** What a heartbeat says about *this* job. */
export type Report = 'absent' | 'waiting' | 'running' | 'ended';

export type JobNodeEvent =
  // from the node
  | { readonly type: 'ack' }
  | { readonly type: 'nack'; readonly reason: string }
  | { readonly type: 'started' }
  | { readonly type: 'finished'; readonly result: CommandResult }
  | { readonly type: 'aborted'; readonly from: AgentState; readonly settled: boolean }
  | { readonly type: 'error'; readonly reason: string }
  | { readonly type: 'agent_crashed' }
  /** A message that fits no job it may speak of. */
  | { readonly type: 'misbehaved'; readonly reason: string }
  | {
      readonly type: 'heartbeat';
      readonly report: Report;
    }
  // about the node
  | { readonly type: 'unclaimed'; readonly why: 'unknown' | 'down' | 'rehab' | 'busy'; readonly reason: string }
  | { readonly type: 'denied' }
  /** Busy; the job is in its queue. */
  | { readonly type: 'queued'; readonly reason: string }
  /** Its turn has come: it is the job's. */
  | { readonly type: 'claimed' }
  /** It was waited for as long as the job allows. */
  | { readonly type: 'wait_over'; readonly seconds: number }
  | { readonly type: 'down'; readonly reason: string }
  | { readonly type: 'restarted'; readonly how: string }
  // from the job
  | { readonly type: 'start' }
  | { readonly type: 'vote_expired' }
  | { readonly type: 'ack_timeout'; readonly seconds: number }
  | { readonly type: 'node_timeout'; readonly seconds: number }
  | { readonly type: 'not_started'; readonly reason: string }
  | { readonly type: 'abort'; readonly ending: FinalPushJobStatus; readonly reason: string }
  | { readonly type: 'close'; readonly ending: FinalPushJobStatus };

export type Vote =
  | 'success'
  | 'failure'
  | 'down'
  | 'voting_timeout'
  | 'unexpected_commit'
  // spelled as deployed clients read it
  | 'lost_availibility';

export type RunEnd =
  | 'success'
  | 'failure'
  | 'crashed'
  | 'run_nacked'
  | 'run_nacked_while_running'
  // not known to deployed servers, which have neither per-node limits nor aborts
  | 'timed_out'
  | 'aborted';

export type JobNodeEffect =
  | { readonly type: 'send'; readonly message: 'prepare' | 'start' | 'abort' }
  | { readonly type: 'release'; readonly to: 'idle' | 'rehab' }
  | { readonly type: 'announce'; readonly name: 'quorum_vote'; readonly status: Vote }
  | { readonly type: 'announce'; readonly name: 'run_start' }
  | { readonly type: 'announce'; readonly name: 'run_complete'; readonly status: RunEnd }
  | { readonly type: 'announce'; readonly name: 'rehab' };

export interface JobNodeStep {
  readonly node: JobNode;
  readonly effects: readonly JobNodeEffect[];
}

export interface JobNodeContext {
  readonly phase: PushJobPhase;
  /** While aborting: how the job will end. */
  readonly ending: FinalPushJobStatus | null;
  readonly now: number;
  /** Whether prepare and start may be repeated in the node's dialect (N12). */
  readonly repeatable: boolean;
}

const FINAL: ReadonlySet<PushJobNodeStatus> = new Set(FINAL_PUSH_JOB_NODE_STATUSES);

export function isFinal(status: PushJobNodeStatus): status is FinalPushJobNodeStatus {
  return FINAL.has(status);
}

/** Where a node counts in the job's tally; null for final statuses that are no failures. */
export function standing(node: JobNode): keyof Tally | null {
  switch (node.status) {
    case 'new':
      return node.waits === null ? 'new' : 'waiting';
    case 'ready':
      return node.starting ? 'starting' : 'ready';
    case 'running':
      return 'running';
    case 'failed':
    case 'crashed':
    case 'timed_out':
      return 'failures';
    default:
      return null;
  }
}
