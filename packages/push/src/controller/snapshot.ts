import type { JobNode } from '../machine/job-node.js';
import type { Stage } from '../machine/stage.js';
import type { UnfinishedJob } from '../repository/reads.js';
import type { JobNodeRow, JobRow } from '../repository/writes.js';
import type { FinalPushJobStatus, PushJobNodeStatus, PushJobPhase, PushJobSpec, PushJobStatus } from '../types.js';
import { LiveJob } from './live-job.js';

/** How a live job looks in the store, and back. */

export function jobRow(job: LiveJob): JobRow {
  const { state } = job;
  return {
    id: job.id,
    org_id: job.org.id,
    command: job.spec.command,
    spec: job.state.phase === 'finished' ? job.keptText : job.specText,
    requester: job.requester,
    status: state.status,
    phase: state.phase,
    ending: state.ending,
    reason: state.reason,
    node_count: job.nodes.size,
    created_at: job.createdAt,
    updated_at: job.updatedAt,
    deadline: state.deadline === null ? null : Math.round(state.deadline),
    stage: state.stage === null ? null : JSON.stringify(state.stage),
  };
}

/** What is known of a job-node's captured output. */
export interface NodeOutputState {
  readonly bytes: { readonly stdout: number; readonly stderr: number } | null;
  /** Why some of it may be missing, besides the limit. */
  readonly missing: string | null;
  /** Of what was kept, once the node has ended; see `OutputKeeper.hash`. */
  readonly hash: string | null;
}

export function jobNodeRow(
  job: LiveJob,
  name: string,
  node: JobNode,
  output: NodeOutputState,
  now: number,
): JobNodeRow {
  return {
    job_id: job.id,
    node: name,
    status: node.status,
    starting: node.starting ? 1 : 0,
    reason: node.reason,
    exit_code: node.exitCode,
    signal: node.signal,
    started_at: node.startedAt,
    updated_at: now,
    stdout_bytes: output.bytes?.stdout ?? null,
    stderr_bytes: output.bytes?.stderr ?? null,
    output_missing: output.missing,
    output_hash: output.hash,
  };
}

export function restoreJob({ org, job: row, nodes }: UnfinishedJob, lastEvent: { seq: number; at: number }): LiveJob {
  const job = new LiveJob({
    org,
    id: row.id,
    spec: JSON.parse(row.spec) as PushJobSpec,
    requester: row.requester,
    createdAt: row.created_at,
    lastEvent,
  });
  job.updatedAt = row.updated_at;
  for (const node of nodes) {
    job.setNode(node.node, restoreNode(node));
  }
  job.state = {
    phase: row.phase as PushJobPhase,
    status: row.status as PushJobStatus,
    ending: row.ending as FinalPushJobStatus | null,
    reason: row.reason,
    deadline: row.deadline,
    nextStartAt: 0,
    stopped: row.phase === 'running' && hasStopped(job),
    stage: row.stage === null ? null : (JSON.parse(row.stage) as Stage),
  };
  return job;
}

/** A job whose failures end the nodes that were not started. */
function hasStopped({ spec: { maxFailures, onFailures }, tally }: LiveJob): boolean {
  return onFailures === undefined && maxFailures !== null && tally.failures > maxFailures;
}

function restoreNode(row: JobNodeRow): JobNode {
  return {
    status: row.status as PushJobNodeStatus,
    starting: row.starting === 1,
    reason: row.reason,
    exitCode: row.exit_code,
    signal: row.signal,
    startedAt: row.started_at,
    contradictions: 0,
    waits: null,
  };
}
