import type { Approvals } from '../api/types.gen.js';
import { FINAL_JOB_STATUSES, type Job } from '../api/types.js';
import type { ListedJob } from '../jobs/read.js';
import type { Fleet } from '../live/fleet.js';
import type { Queue } from '../live/queues.js';
import { plural } from '../parts/numbers.js';
import { rerunOf } from '../push/target.js';
import { hrefOf } from '../route.js';
import { subjectOf } from '../runbooks/subject.js';

/** What somebody should look at, and why. */
export interface Need {
  readonly key: string;
  readonly href: string;
  readonly what: string;
  readonly why: string;
  readonly at: number;
  readonly tone: 'warn' | 'bad';
  /** Id of a queue that goes on when it is resumed. */
  readonly paused?: string;
}

/** Nodes in rehab for less than this will mostly come out of it. */
const PATIENCE_MS = 30_000;
/** Jobs that ended badly are told of for so long. */
const RECENT_MS = 24 * 3_600_000;

export function nodesInNeed(org: string, fleet: Fleet, at: number): Need[] {
  return [...fleet.values()]
    .filter(({ owner, since }) => owner === 'down' || (owner === 'rehab' && at - since > PATIENCE_MS))
    .map(({ name, owner, since, reason }) => ({
      key: `node ${name}`,
      href: hrefOf(org, { name: 'node', node: name }),
      what: `${name} ${owner === 'down' ? 'is down' : 'is in rehab'}`,
      why: reason,
      at: since,
      tone: owner === 'down' ? 'bad' : 'warn',
    }));
}

export function approvalsInNeed(org: string, approvals: Approvals): Need[] {
  return approvals.map((approval) => ({
    key: `approval ${approval.id}`,
    href: hrefOf(org, { name: 'approvals' }, { open: approval.id }),
    what: `${subjectOf(approval)} waits for somebody to agree`,
    why: `asked for by ${approval.asked_by}`,
    at: Date.parse(approval.created_at),
    tone: 'warn',
  }));
}

export function blockedJobs(org: string, jobs: readonly ListedJob[]): Need[] {
  return jobs.map((job) => ({
    key: `job ${job.id}`,
    href: hrefOf(org, { name: 'long-job', id: job.id }),
    what: `${job.name} is blocked`,
    why: job.condition ?? job.lastStatusMessage,
    at: Date.parse(job.accepted),
    tone: 'warn',
  }));
}

export function pausedQueues(org: string, queues: readonly Queue[]): Need[] {
  return queues.flatMap(({ id, name, state, counts, updated_at: at }): Need[] =>
    state === 'paused' && counts.queued > 0
      ? [
          {
            key: `queue ${id}`,
            href: hrefOf(org, { name: 'queue', queue: name }),
            what: `${name} is paused`,
            why: `${plural(counts.queued, 'task waits', 'tasks wait')}`,
            at: Date.parse(at),
            tone: 'warn',
            paused: id,
          },
        ]
      : [],
  );
}

/** Of what was run again where it failed, the last run is told of. */
export function jobsInNeed(org: string, jobs: readonly Job[], at: number): Need[] {
  const runAgain = new Set(jobs.filter(({ status }) => status !== 'aborted').map(({ target }) => rerunOf(target)));
  return jobs.flatMap((job): Need[] => {
    const created = Date.parse(job.created_at);
    const href = hrefOf(org, { name: 'job', id: job.id });
    const about = { key: job.id, href, what: job.command };
    const hold = job.batch?.hold;
    if (!FINAL_JOB_STATUSES.has(job.status) && hold !== undefined && hold !== null && hold !== 'pause') {
      return [{ ...about, why: 'is held until somebody continues it', at: created, tone: 'warn' }];
    }
    const failed = (job.counts.failed ?? 0) + (job.counts.crashed ?? 0) + (job.counts.timed_out ?? 0);
    if (runAgain.has(job.id)) return [];
    if (at - created > RECENT_MS || !FINAL_JOB_STATUSES.has(job.status)) return [];
    if (job.status === 'complete' && failed === 0) return [];
    if (job.status === 'aborted') return [];
    const again = rerunOf(job.target) === null ? '' : 'again ';
    const why = job.status === 'complete' ? `failed ${again}on ${plural(failed, 'node')}` : (job.reason ?? job.status);
    return [{ ...about, why, at: Date.parse(job.updated_at), tone: 'bad' }];
  });
}
