/** Shapes of the API's answers that the CLI reads. Fields it does not read are left out. */

export type JobNodeStatus =
  | 'new'
  | 'ready'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'aborted'
  | 'crashed'
  | 'nacked'
  | 'unavailable'
  | 'was_ready'
  | 'timed_out';

/** A job as `GET …/jobs/ID?detail=true` shows it. */
export interface Job {
  readonly id: string;
  readonly command: string;
  readonly status: string;
  readonly run_timeout: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Job-node status to node names; statuses without nodes are absent. */
  readonly nodes?: Readonly<Partial<Record<JobNodeStatus, readonly string[]>>>;
  readonly quorum?: number;
  readonly node_count?: number;
  readonly created_by?: string;
  readonly aborting?: boolean;
  readonly reason?: string | null;
  readonly capture_output?: boolean;
}

/** One node of a job, `GET …/jobs/ID/nodes`. */
export interface JobNode {
  readonly node_name: string;
  readonly status: JobNodeStatus;
  readonly reason: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly started_at: string | null;
  readonly updated_at: string;
}

export interface NodeState {
  readonly node_name: string;
  readonly status: 'up' | 'down';
  readonly availability: 'available' | 'unavailable';
  readonly updated_at: string;
  readonly reason: string;
}

const FINAL_JOB_STATUSES = new Set(['complete', 'quorum_failed', 'timed_out', 'aborted', 'crashed']);

export function isFinal(job: Pick<Job, 'status'>): boolean {
  return FINAL_JOB_STATUSES.has(job.status);
}

/** How many nodes of the job have each status. */
export function countsOf(job: Pick<Job, 'nodes'>): Map<JobNodeStatus, number> {
  const counts = new Map<JobNodeStatus, number>();
  for (const [status, names] of Object.entries(job.nodes ?? {})) counts.set(status as JobNodeStatus, names.length);
  return counts;
}

/** Statuses that do not make a complete job a failed one: the node succeeded, or was never part of it (sheet §8.4). */
const HARMLESS: ReadonlySet<JobNodeStatus> = new Set(['succeeded', 'nacked', 'unavailable']);

/** The job is complete and every node that started succeeded: the CLI's exit code 0. */
export function isSuccess(job: Pick<Job, 'status' | 'nodes'>): boolean {
  if (job.status !== 'complete') return false;
  return [...countsOf(job)].every(([status, count]) => count === 0 || HARMLESS.has(status));
}
