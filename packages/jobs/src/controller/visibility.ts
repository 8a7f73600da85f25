import type { Clock } from '@muster/base';
import { type Store, update } from '@muster/store';
import { MusterError } from '../errors.js';
import type { JobStore } from '../repository/job-store.js';
import { isTerminal } from '../status.js';
import type { By, Job } from '../types.js';

export interface VisibilityDeps {
  readonly store: Pick<Store, 'commit'>;
  readonly jobs: JobStore;
  readonly clock: Pick<Clock, 'now'>;
}

const show = update('jobs', { uuid: 'text', visible: 'integer', last_updated: 'integer' }, ['uuid']);

/**
 * Hides a job that has ended from lists, or shows it again. Its status stays (sheet §8.4).
 * @returns as it is then, and whether it was otherwise before
 * @throws MusterError `job_not_ended`
 */
export async function setVisible(
  { store, jobs, clock }: VisibilityDeps,
  job: Job,
  visible: boolean,
  by: By,
): Promise<{ readonly job: Job; readonly changed: boolean }> {
  // One that has ended never changes its status again.
  if (!isTerminal(job.status)) throw new MusterError('job_not_ended', { job: job.uuid, status: job.status });
  if (job.visible === visible) return { job, changed: false };
  const now = clock.now();
  const [event, says] = visible ? ['RESTORED', 'Job is shown in lists again'] : ['DELETED', 'Job is hidden from lists'];
  const { writes, stored } = await jobs.toldEntry(job, event, by, says);
  await store.commit([show({ uuid: job.uuid, visible: Number(visible), last_updated: now }), ...writes]);
  stored();
  return { job: { ...job, visible, lastUpdated: now }, changed: true };
}
