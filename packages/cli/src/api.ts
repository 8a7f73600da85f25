import type { FinalPushJobStatus, PushJobNodeStatus, PushJobStatus } from '@muster/push';

/** Shapes of the API's answers that the CLI reads. Fields it does not read are left out. */

export type { PushJobNodeStatus };

/** A job as `GET …/jobs/ID?detail=true` shows it. */
export interface Job {
  readonly id: string;
  readonly command: string;
  readonly status: PushJobStatus;
  readonly run_timeout: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Job-node status to node names; statuses without nodes are absent. */
  readonly nodes?: Readonly<Partial<Record<PushJobNodeStatus, readonly string[]>>>;
  /** How many nodes have each status; statuses without nodes are absent. */
  readonly counts?: Readonly<Partial<Record<PushJobNodeStatus, number>>>;
  readonly quorum?: number;
  readonly node_count?: number;
  readonly created_by?: string;
  readonly aborting?: boolean;
  readonly reason?: string | null;
  readonly capture_output?: boolean;
  /** `wait`: for nodes that are busy. */
  readonly when_busy?: string;
  /** The saved command that it ran. */
  readonly runbook?: { readonly name: string };
  /** Files that nodes fetch before they vote. */
  readonly script?: { readonly size: number };
  readonly uploads?: readonly { readonly size: number; readonly dest: string }[];
  /** The file that is collected of every node. */
  readonly fetch?: string;
  /** It had a file, which is not shown. */
  readonly file_specified?: boolean;
  /** How many nodes each batch has; the last counts for all that follow. */
  readonly batches?: readonly number[];
  /** Of one in batches, or that was held. */
  readonly batch?: { readonly number: number; readonly hold: string | null; readonly excused: number };
}

/** A job as `GET …/jobs/lookup/DIGITS` shows it. */
export type FoundJob = Pick<Job, 'id' | 'command' | 'status' | 'created_at'>;

/** One node of a job, `GET …/jobs/ID/nodes`. */
export interface JobNode {
  readonly node_name: string;
  readonly status: PushJobNodeStatus;
  readonly reason: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly started_at: string | null;
  readonly updated_at: string;
}

/** A node of a job that has not ended, in `push why`. */
export interface WaitingNode {
  readonly node_name: string;
  readonly status: PushJobNodeStatus;
  readonly waits_for: string;
  readonly reason: string;
  readonly job_id: string | null;
  readonly since: string | null;
}

export interface NodeState {
  readonly node_name: string;
  readonly status: 'up' | 'down';
  /** `ssh`: it has no agent. */
  readonly via: 'agent' | 'ssh';
  readonly availability: 'available' | 'unavailable';
  /** When its owner, and with it its availability, last changed. */
  readonly owner_since: string;
  readonly reason: string;
}

/** By status: will it not change any more? The types make sure that none is forgotten. */
const JOB_ENDS: Readonly<Record<Exclude<PushJobStatus, FinalPushJobStatus>, false> & Record<FinalPushJobStatus, true>> =
  {
    new: false,
    voting: false,
    running: false,
    complete: true,
    quorum_failed: true,
    timed_out: true,
    aborted: true,
    crashed: true,
  };

/** `held` is no status of its own: a job that runs, and waits to be continued. */
export const LISTED_JOB_STATUSES: readonly string[] = [...Object.keys(JOB_ENDS), 'held'];

const NODE_ENDS: Readonly<Record<PushJobNodeStatus, boolean>> = {
  new: false,
  ready: false,
  running: false,
  succeeded: true,
  failed: true,
  aborted: true,
  crashed: true,
  nacked: true,
  unavailable: true,
  was_ready: true,
  timed_out: true,
};

export function isFinal(job: Pick<Job, 'status'>): boolean {
  return JOB_ENDS[job.status];
}

/** The node's part in the job is over. */
export function hasEnded(status: PushJobNodeStatus): boolean {
  return NODE_ENDS[status];
}

/**
 * The job is over for such a node, but its command perhaps is not: it was told to stop, or was lost sight of. A node that
 * was ready may just have been started.
 */
const PERHAPS_RUNNING: ReadonlySet<PushJobNodeStatus> = new Set(['aborted', 'was_ready', 'timed_out', 'crashed']);

export function mayStillRun(status: PushJobNodeStatus): boolean {
  return PERHAPS_RUNNING.has(status);
}

/** How many nodes of the job have each status. */
function countsOf(job: Pick<Job, 'nodes'>): Map<PushJobNodeStatus, number> {
  const counts = new Map<PushJobNodeStatus, number>();
  for (const [status, names] of Object.entries(job.nodes ?? {})) counts.set(status as PushJobNodeStatus, names.length);
  return counts;
}

/** Statuses that do not make a complete job a failed one: the node succeeded, or was never part of it (sheet §8.4). */
const HARMLESS: ReadonlySet<PushJobNodeStatus> = new Set(['succeeded', 'nacked', 'unavailable']);

/** The job is complete and every node that started succeeded: the CLI's exit code 0. */
export function isSuccess(job: Pick<Job, 'status' | 'nodes'>): boolean {
  if (job.status !== 'complete') return false;
  return [...countsOf(job)].every(([status, count]) => count === 0 || HARMLESS.has(status));
}
