/** What may follow what, as the reference sheet draws it (§2.4): written down a second time, apart from the machine. */
const WORK: Readonly<Record<string, readonly string[]>> = {
  PENDING: ['PROCESSING_INPUTS'],
  PROCESSING_INPUTS: ['STAGING_INPUTS', 'STAGING_JOB'],
  STAGING_INPUTS: ['STAGED'],
  STAGED: ['STAGING_JOB'],
  STAGING_JOB: ['SUBMITTING'],
  SUBMITTING: ['QUEUED', 'RUNNING'],
  QUEUED: ['RUNNING', 'CLEANING_UP'],
  RUNNING: ['CLEANING_UP'],
  CLEANING_UP: ['ARCHIVING', 'FINISHED'],
  ARCHIVING: ['FINISHED'],
};

export const TERMINAL: ReadonlySet<string> = new Set(['FINISHED', 'STOPPED', 'FAILED']);

export function isWorkedOn(status: string): boolean {
  return status in WORK;
}

export function isLegal(from: string, to: string): boolean {
  if (from === 'ACCEPTED') return ['PENDING', 'STOPPED', 'FAILED'].includes(to);
  if (from === 'BLOCKED') return isWorkedOn(to) || ['PAUSED', 'STOPPED', 'FAILED'].includes(to);
  if (from === 'PAUSED') return isWorkedOn(to) || ['STOPPED', 'FAILED'].includes(to);
  if (!isWorkedOn(from)) return false;
  return from === to || ['BLOCKED', 'PAUSED', 'STOPPED', 'FAILED', ...(WORK[from] ?? [])].includes(to);
}
