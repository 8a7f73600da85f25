import { isJobStatus, JOB_STATUSES, type Job, type JobStatus } from '../api/types.js';
import { failures } from './parts.jsx';

/** Complete, though the command failed on some node. The server has no status for it. */
const WITH_FAILURES = 'with_failures';

export const JOB_FILTERS = [...JOB_STATUSES, WITH_FAILURES] as const;
export type JobFilter = (typeof JOB_FILTERS)[number];

export function isJobFilter(text: string): text is JobFilter {
  return text === WITH_FAILURES || isJobStatus(text);
}

/** What the server is asked for: all that may fit. */
export function statusesOf(chosen: readonly JobFilter[]): readonly JobStatus[] {
  return [...new Set(chosen.map((each) => (each === WITH_FAILURES ? 'complete' : each)))];
}

/** Nothing chosen: all. */
export function fits({ status, counts }: Pick<Job, 'status' | 'counts'>, chosen: readonly JobFilter[]): boolean {
  if (chosen.length === 0 || chosen.includes(status)) return true;
  return chosen.includes(WITH_FAILURES) && status === 'complete' && failures(counts) > 0;
}
