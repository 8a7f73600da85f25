import type { JobNode } from './job-node.js';
import { LiveJob } from './live-job.js';
import type { UnfinishedJob } from './reads.js';
import type { JobNodeRow, JobRow } from './repository.js';
import type { FinalJobStatus, JobNodeStatus, JobPhase, JobSpec, JobStatus } from './types.js';

/** How a live job looks in the store, and back. */

export function jobRow(job: LiveJob, server: string): JobRow {
  const { state } = job;
  return {
    id: job.id,
    org_id: job.org.id,
    command: job.spec.command,
    spec: job.specText,
    requester: job.requester,
    status: state.status,
    phase: state.phase,
    ending: state.ending,
    reason: state.reason,
    node_count: job.nodes.size,
    created_at: job.createdAt,
    updated_at: job.updatedAt,
    deadline: state.deadline === null ? null : Math.round(state.deadline),
    event_seq: job.seq,
    server,
  };
}

export function jobNodeRow(
  job: LiveJob,
  name: string,
  node: JobNode,
  bytes: { readonly stdout: number; readonly stderr: number } | null,
  now: number,
): JobNodeRow {
  return {
    job_id: job.id,
    org_id: job.org.id,
    node: name,
    status: node.status,
    starting: node.starting ? 1 : 0,
    reason: node.reason,
    exit_code: node.exitCode,
    signal: node.signal,
    incarnation: job.incarnations.get(name) ?? null,
    started_at: node.startedAt,
    updated_at: now,
    stdout_bytes: bytes?.stdout ?? null,
    stderr_bytes: bytes?.stderr ?? null,
  };
}

export function restoreJob({ org, job: row, nodes }: UnfinishedJob, lastEvent: { seq: number; at: number }): LiveJob {
  const job = new LiveJob({
    org,
    id: row.id,
    spec: JSON.parse(row.spec) as JobSpec,
    requester: row.requester,
    createdAt: row.created_at,
    lastEvent,
  });
  job.updatedAt = row.updated_at;
  for (const node of nodes) {
    job.incarnations.set(node.node, node.incarnation);
    job.setNode(node.node, restoreNode(node));
  }
  job.state = {
    phase: row.phase as JobPhase,
    status: row.status as JobStatus,
    ending: row.ending as FinalJobStatus | null,
    reason: row.reason,
    deadline: row.deadline,
    nextStartAt: 0,
    stopped: row.phase === 'running' && job.spec.maxFailures !== null && job.tally.failures > job.spec.maxFailures,
  };
  return job;
}

function restoreNode(row: JobNodeRow): JobNode {
  return {
    status: row.status as JobNodeStatus,
    starting: row.starting === 1,
    reason: row.reason,
    exitCode: row.exit_code,
    signal: row.signal,
    startedAt: row.started_at,
    contradictions: 0,
  };
}
