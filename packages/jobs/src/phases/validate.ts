import { defaultArchivePath, resolveMacros } from '../request/macros.js';
import { Failed, type Job } from '../types.js';
import { appOf } from './app.js';
import type { Phase, PhaseContext } from './context.js';
import { below, workDirectory } from './paths.js';
import { roomFor } from './quotas.js';

/**
 * PENDING: whether it can run at all, where it works and where its outputs go, and whether there is room for it (sheet §3.2).
 * Nothing of it is anywhere yet, so that it may be done again.
 */
export const validate: Phase = async (context) => {
  checkDefinition(context.job);
  await appOf(context);
  const archivePath = await archiveOf(context);
  const { job, systems } = context;
  const { system } = await systems.open(job.orgId, job.systemId);
  const workPath = workDirectory(system, job);
  await context.change({ to: 'PROCESSING_INPUTS', patch: { workPath, archivePath } }, roomFor(job, system));
};

/** The last check before anything is done (sheet §1.6): a message may come from anywhere. */
function checkDefinition(job: Job): void {
  for (const field of ['name', 'owner', 'tenant', 'systemId', 'appId', 'queue'] as const) {
    if (job[field].trim() === '') throw new Failed('JOB_INVALID_DEFINITION', `JOBS_INVALID_JOB ${field} is empty`);
  }
  for (const field of ['nodeCount', 'processorsPerNode', 'memoryMb', 'maxSeconds'] as const) {
    if (job[field] < 1) throw new Failed('JOB_INVALID_DEFINITION', `JOBS_INVALID_JOB ${field} is less than 1`);
  }
}

/** With its macros resolved, since only now all their values are known (sheet §1.5). */
async function archiveOf({ job, systems }: PhaseContext): Promise<string | null> {
  if (!job.archive) return job.archivePath;
  const given = job.archivePath ?? '';
  const path = given === '' ? defaultArchivePath(job) : resolveMacros(given, job);
  const { system } = await systems.open(job.orgId, job.archiveSystem ?? job.systemId);
  below(system.root, path);
  return path;
}
