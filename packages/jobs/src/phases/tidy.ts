import type { PhaseContext } from './context.js';

/** After a job has finished and its outputs are archived: its work directory goes. One that stays is a matter of disk space. */
export async function tidy({ job, systems, log }: Pick<PhaseContext, 'job' | 'systems' | 'log'>): Promise<void> {
  if (!job.archive || job.workPath === null) return;
  try {
    const { connection } = await systems.open(job.orgId, job.systemId);
    await connection.files.remove(job.workPath);
  } catch (err) {
    log.warn({ err, job: job.uuid, path: job.workPath }, 'the work directory of a finished job could not be removed');
  }
}
