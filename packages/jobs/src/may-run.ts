import type { Job } from './types.js';

/** Whether something of a job may be running on its system, or begin to: also when nobody knows whether it was submitted. */
export function mayRun({
  status,
  resumeAt,
  remoteEnded,
  workPath,
}: Pick<Job, 'status' | 'resumeAt' | 'remoteEnded' | 'workPath'>): boolean {
  const at = resumeAt ?? status;
  const submitted = at === 'SUBMITTING' || at === 'QUEUED' || at === 'RUNNING';
  return submitted && remoteEnded === null && workPath !== null;
}
