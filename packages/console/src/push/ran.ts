import { FINAL_NODE_STATUSES, type JobNode, type JobNodeStatus } from '../api/types.js';
import { byReason, type SameReason } from './by-reason.js';

type Times = Pick<JobNode, 'status' | 'started_at' | 'updated_at'>;

/** Of those that ran it and did not succeed, as `push rerun --failed` takes them. */
export const RAN_BADLY: readonly JobNodeStatus[] = ['failed', 'crashed', 'timed_out', 'aborted'];

/** Of those that never began, as `push rerun --not-started` takes them. */
export const DID_NOT_RUN: readonly JobNodeStatus[] = ['nacked', 'unavailable', 'was_ready'];

/** Of nodes that did not run the command: those of one status for one reason. */
export interface Idle extends SameReason {
  readonly status: JobNodeStatus;
}

export function didNotRun(nodes: readonly JobNode[]): readonly Idle[] {
  return DID_NOT_RUN.flatMap((status) => {
    const of = nodes.filter((node) => node.status === status);
    const told = of.map(({ node_name, reason }) => ({ node_name, reason: reason ?? '' }));
    return byReason(told).map((same) => ({ status, ...same }));
  });
}

/** When it ended, in milliseconds since the epoch; null: it has not. Pure. */
export function endedAt({ status, updated_at: at }: Pick<JobNode, 'status' | 'updated_at'>): number | null {
  return FINAL_NODE_STATUSES.has(status) ? Date.parse(at) : null;
}

/** How long its command ran, as the server saw it; null: it did not start, has not ended, or nobody saw its start. */
export function ranMs(node: Times): number | null {
  const ended = endedAt(node);
  if (ended === null || node.started_at === null) return null;
  const ran = ended - Date.parse(node.started_at);
  // What the server learns of only by its end is stored as if it began with it.
  return ran > 0 ? ran : null;
}
