import { FINAL_JOB_STATUSES, isJobStatus, type Job } from '../api/types.js';
import { attribute, type LiveEvent } from './event.js';

/** A list of push jobs, and what events make of it. Pure: what comes twice changes nothing. */
export function applyToJobs(
  jobs: readonly Job[],
  events: readonly LiveEvent[],
): { readonly jobs: readonly Job[]; readonly stale: boolean } {
  let stale = false;
  const statuses = new Map<string, string>();
  for (const event of events) {
    const id = attribute(event, 'job');
    if (id === null || !event.type.startsWith('push.')) continue;
    // Counts of nodes, and jobs that are new, only the list has.
    stale = true;
    const status = attribute(event, 'status');
    if ((event.type === 'push.job' || event.type === 'push.job_complete') && status !== null) statuses.set(id, status);
    else if (event.type === 'push.quorum_succeeded') statuses.set(id, 'running');
  }
  const changed = jobs.some(({ id }) => statuses.has(id));
  return { jobs: changed ? jobs.map((job) => withStatus(job, statuses.get(job.id))) : jobs, stale };
}

function withStatus(job: Job, status: string | undefined): Job {
  if (status === undefined || !isJobStatus(status) || FINAL_JOB_STATUSES.has(job.status)) return job;
  return job.status === status ? job : { ...job, status };
}
