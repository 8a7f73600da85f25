import { type FeedKind, feedEvent } from '@muster/platform/feeds';
import type { Recordable } from '@muster/platform/log';
import type { LiveJob } from './controller/live-job.js';
import { PUSH_EVENTS } from './event-types.js';
import { COMMAND_TOLD } from './limits.js';

/** What push jobs tell: events that their feeds show, and further ones for those who follow everything. */

/** Names of job events (sheet §7.10). */
export type PushEventName =
  | 'start'
  | 'quorum_vote'
  | 'quorum_succeeded'
  | 'batch'
  | 'run_start'
  | 'run_complete'
  | 'rehab'
  | 'job_complete';

/** The feeds of push jobs. */
export const PUSH_FEED: FeedKind<PushEventName> = {
  subjects: 'push/',
  family: PUSH_EVENTS,
  noun: 'job',
  last: 'job_complete',
  listed: ['start', 'job_complete'],
};

type Job = Pick<LiveJob, 'org' | 'id'>;

/** How a node stands in a job, as events about it can be selected by. What is null is left out. */
export interface JobNodeStanding {
  readonly status: string;
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** What its command has written; null: nothing was captured. */
  readonly output: { readonly stdout: number; readonly stderr: number } | null;
}

function resultOf({ reason, exitCode, signal, output }: JobNodeStanding): Readonly<Record<string, unknown>> {
  return {
    reason: reason ?? undefined,
    exit_code: exitCode ?? undefined,
    signal: signal ?? undefined,
    stdout_bytes: output?.stdout,
    stderr_bytes: output?.stderr,
  };
}

/** Of whose job it was and how its nodes ended, so that whoever is to be told of failures can be selected by that. */
function endOf({
  requester,
  spec,
  nodes,
}: Pick<LiveJob, 'requester' | 'spec' | 'nodes'>): Readonly<Record<string, unknown>> {
  let succeeded = 0;
  for (const { status } of nodes.values()) if (status === 'succeeded') succeeded += 1;
  const command = spec.command.slice(0, COMMAND_TOLD);
  return { user: requester, command, succeeded, failed: nodes.size - succeeded };
}

/**
 * An event of the job's feed; `data` is what the feed shows, and stays as deployed clients know it.
 * @param standing Of the node that it is about, after what the event tells of; undefined: the event tells of no status.
 */
export function jobEvent(
  job: Pick<LiveJob, 'org' | 'id' | 'requester' | 'spec' | 'nodes'>,
  seq: number,
  name: PushEventName,
  data: Readonly<Record<string, unknown>>,
  standing?: JobNodeStanding,
): Recordable {
  const { node, status } = data;
  const own = standing === undefined ? {} : { node_status: standing.status, ...resultOf(standing) };
  if (name === 'job_complete') return feedEvent(PUSH_FEED, job, { seq, name, data }, { status, ...endOf(job) });
  const attributes = name === 'start' ? { user: data.user } : { node, status, batch: data.batch, ...own };
  return feedEvent(PUSH_FEED, job, { seq, name, data }, attributes);
}

/** The job is in another phase, and nothing in its feed says so. */
export function jobChanged({ org, id, state }: Pick<LiveJob, 'org' | 'id' | 'state'>): Recordable {
  const { status, phase, reason } = state;
  return PUSH_EVENTS.tell('push.job', org, { job: id, status, phase }, { reason });
}

/** The same of one of its nodes. */
export function jobNodeChanged({ org, id }: Job, node: string, standing: JobNodeStanding): Recordable {
  const { status, reason } = standing;
  return PUSH_EVENTS.tell('push.job_node', org, { job: id, node, status, ...resultOf(standing) }, { reason });
}
