import {
  type Counts,
  FINAL_JOB_STATUSES,
  FINAL_NODE_STATUSES,
  isJobNodeStatus,
  isJobStatus,
  type Job,
  type JobNode,
  type JobNodeStatus,
  type JobStatus,
} from '../api/types.js';
import { attribute, dataOf, type LiveEvent, textIn } from './event.js';

/** One push job with its nodes, and what events make of it. Pure: what comes twice changes nothing. */
export interface LiveJob {
  readonly job: Job;
  /** In the order of their names. A job keeps the nodes that it was started with. */
  readonly nodes: readonly JobNode[];
  /** Where among them a name is: an event finds its node without looking through all. */
  readonly places: ReadonlyMap<string, number>;
  /** Something was told of the job itself that only the server can show in full: its batch, why it ended. */
  readonly stale: boolean;
}

export function liveJob(job: Job, nodes: readonly JobNode[]): LiveJob {
  return { job, nodes, places: new Map(nodes.map(({ node_name: name }, index) => [name, index])), stale: false };
}

export function applyToJob(state: LiveJob, events: readonly LiveEvent[]): LiveJob {
  let { job, stale } = state;
  const { places } = state;
  let nodes: JobNode[] | null = null;
  for (const event of events) {
    if (attribute(event, 'job') !== job.id || !event.type.startsWith('push.')) continue;
    const name = attribute(event, 'node');
    if (name === null) {
      const after = stepJob(job, event);
      stale ||= event.type === 'push.batch' || (after !== job && FINAL_JOB_STATUSES.has(after.status));
      job = after;
      continue;
    }
    const place = places.get(name) ?? -1;
    const before = (nodes ?? state.nodes)[place];
    const status = nodeStatus(event);
    if (before === undefined || status === null || !follows(before.status, status)) continue;
    nodes ??= [...state.nodes];
    nodes[place] = changed(before, status, event);
  }
  return job === state.job && nodes === null && stale === state.stale
    ? state
    : { job, nodes: nodes ?? state.nodes, places, stale };
}

/** Final statuses never change; an earlier event that comes again takes nothing back. What a new node waits for may change. */
function follows(before: JobNodeStatus, after: JobNodeStatus): boolean {
  return after === 'new' ? before === 'new' : !FINAL_NODE_STATUSES.has(before) && rank(after) > rank(before);
}

function rank(status: JobNodeStatus): number {
  return FINAL_NODE_STATUSES.has(status) ? 3 : status === 'running' ? 2 : status === 'ready' ? 1 : 0;
}

function changed(node: JobNode, status: JobNodeStatus, event: LiveEvent): JobNode {
  const at = new Date(event.at).toISOString();
  const numberOf = (name: string): number | null => {
    const value = attribute(event, name);
    return value === null ? null : Number(value);
  };
  return {
    ...node,
    status,
    started_at: status === 'running' ? at : node.started_at,
    updated_at: at,
    reason: attribute(event, 'reason'),
    exit_code: numberOf('exit_code'),
    signal: attribute(event, 'signal'),
    stdout_bytes: numberOf('stdout_bytes') ?? node.stdout_bytes,
    stderr_bytes: numberOf('stderr_bytes') ?? node.stderr_bytes,
  };
}

/** Null: it tells nothing about the status. */
function nodeStatus(event: LiveEvent): JobNodeStatus | null {
  switch (event.type) {
    case 'push.run_start':
      return 'running';
    case 'push.quorum_vote':
    case 'push.run_complete':
      return known(attribute(event, 'node_status'));
    case 'push.job_node':
      return known(attribute(event, 'status'));
    default:
      return null;
  }
}

function known(status: string | null): JobNodeStatus | null {
  return status !== null && isJobNodeStatus(status) ? status : null;
}

const ORDER: Readonly<Record<string, number>> = { new: 0, voting: 1, running: 2 };

function stepJob(job: Job, event: LiveEvent): Job {
  switch (event.type) {
    case 'push.quorum_succeeded':
      return toStatus(job, 'running', event);
    case 'push.job':
    case 'push.job_complete': {
      const status = attribute(event, 'status') ?? '';
      const after = isJobStatus(status) ? toStatus(job, status, event) : job;
      const aborting = attribute(event, 'phase') === 'aborting' && !FINAL_JOB_STATUSES.has(after.status);
      const reason = textIn(dataOf(event), 'reason');
      if (after === job && (!aborting || job.aborting)) return job;
      return {
        ...after,
        aborting: aborting || (job.aborting && !FINAL_JOB_STATUSES.has(after.status)),
        reason: reason ?? job.reason,
      };
    }
    default:
      return job;
  }
}

function toStatus(job: Job, status: JobStatus, event: LiveEvent): Job {
  if (FINAL_JOB_STATUSES.has(job.status) || (ORDER[status] ?? 3) <= (ORDER[job.status] ?? 3)) return job;
  return { ...job, status, updated_at: new Date(event.at).toUTCString() };
}

export function countNodes(nodes: readonly JobNode[]): Counts {
  const counts: Partial<Record<JobNodeStatus, number>> = {};
  for (const { status } of nodes) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** How many of the nodes have ended, well or not, of how many. */
export function progress(counts: Counts): { readonly done: number; readonly well: number; readonly total: number } {
  let done = 0;
  let total = 0;
  for (const [status, count = 0] of Object.entries(counts)) {
    total += count;
    if (isJobNodeStatus(status) && FINAL_NODE_STATUSES.has(status)) done += count;
  }
  return { done, well: counts.succeeded ?? 0, total };
}
