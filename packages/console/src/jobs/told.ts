import { mayI, signedIn } from '../session/session.js';
import { hasEnded } from '../statuses/jobs.js';
import type { ListedJob } from './read.js';

/** What tells of jobs: of one's own, and for administrators of all. */
export const OF_JOBS = "type LIKE 'job.%'";

/** No event tells of jobs that others share: what shows one is read again so often, until it has ended. */
export const UNTOLD_MS = 5000;

export function untold({ owner, status }: Pick<ListedJob, 'owner' | 'status'>): boolean {
  return owner !== signedIn().session.user && !mayI('job:admin').may && !hasEnded(status);
}

/** When lists of long jobs are read again. */
export const ofLongJobs = {
  selector: OF_JOBS,
  everyMs: UNTOLD_MS,
  untold: ({ jobs }: { readonly jobs: readonly ListedJob[] }): boolean => jobs.some(untold),
} as const;
