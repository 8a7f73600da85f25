import { mayI } from '../session/session.js';

/** Whoever may not follow the events of jobs sees lists that are read again so often. */
const UNTOLD_MS = 5000;

/** When lists of long jobs are read again. */
export function ofLongJobs(): { readonly selector: string | null; readonly everyMs: number | null } {
  return mayI('job:admin').may
    ? { selector: "type LIKE 'job.%'", everyMs: null }
    : { selector: null, everyMs: UNTOLD_MS };
}
