/** Topic of the hint that jobs of an organization were blocked: its id. */
export const RECOVERY_HINT = 'job-recovery';
/** Topic of the hint that something is asked of a job that is blocked or paused: the id of its organization. */
export const WANTED_HINT = 'job-wanted';
