/** Topic of the hint that jobs of an organization were blocked: its id. */
export const RECOVERY_HINT = 'job-recovery';
