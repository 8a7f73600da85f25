/** What the description of the API leaves open: push jobs and their nodes, as `GET …/pushy/jobs/ID?detail=true` shows them. */

export const JOB_STATUSES = [
  'new',
  'voting',
  'running',
  'complete',
  'quorum_failed',
  'timed_out',
  'aborted',
  'crashed',
] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** In the order in which they are shown. */
export const JOB_NODE_STATUSES = [
  'failed',
  'crashed',
  'timed_out',
  'aborted',
  'nacked',
  'unavailable',
  'was_ready',
  'running',
  'ready',
  'new',
  'succeeded',
] as const;
export type JobNodeStatus = (typeof JOB_NODE_STATUSES)[number];

/** Of a job that runs in batches, or was held. */
export interface JobBatch {
  readonly number: number;
  readonly left: number;
  readonly hold: string | null;
  readonly until: string | null;
  readonly excused: number;
}

export type Counts = Readonly<Partial<Record<JobNodeStatus, number>>>;

export interface Job {
  readonly id: string;
  readonly command: string;
  readonly status: JobStatus;
  readonly run_timeout: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly user?: string;
  readonly dir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly capture_output?: boolean;
  readonly file_specified?: boolean;
  readonly script?: { readonly name: string; readonly args?: readonly string[] };
  readonly runbook?: { readonly name: string; readonly version: number };
  readonly secrets?: Readonly<Record<string, string>>;
  readonly uploads?: unknown;
  readonly fetch?: string;
  readonly batches?: unknown;
  readonly concurrency?: unknown;
  readonly max_failures?: unknown;
  readonly quorum: number;
  /** The search, the node group or the job by which its nodes were chosen; null: by their names. */
  readonly target: string | null;
  readonly created_by: string;
  readonly node_count: number;
  readonly aborting: boolean;
  readonly reason: string | null;
  readonly counts: Counts;
  /** Of a list of the jobs of one node: how it stands in it. */
  readonly node_status?: JobNodeStatus;
  readonly batch?: JobBatch;
}

export interface JobNode {
  readonly node_name: string;
  readonly status: JobNodeStatus;
  readonly reason: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly started_at: string | null;
  readonly updated_at: string;
  readonly stdout_bytes: number | null;
  readonly stderr_bytes: number | null;
}

/** What a link would do, before it is done. */
export interface SessionPreview {
  readonly organization: string;
  readonly user: string;
  readonly expires_at: string;
}

export const FINAL_JOB_STATUSES: ReadonlySet<JobStatus> = new Set([
  'complete',
  'quorum_failed',
  'timed_out',
  'aborted',
  'crashed',
] as const);

export const FINAL_NODE_STATUSES: ReadonlySet<JobNodeStatus> = new Set([
  'succeeded',
  'failed',
  'aborted',
  'crashed',
  'nacked',
  'unavailable',
  'was_ready',
  'timed_out',
] as const);

export function isJobNodeStatus(text: string): text is JobNodeStatus {
  return (JOB_NODE_STATUSES as readonly string[]).includes(text);
}

export function isJobStatus(text: string): text is JobStatus {
  return (JOB_STATUSES as readonly string[]).includes(text);
}
