import { JobLost } from '../repository/job-store.js';
import type { OpenSystem, Submitted } from '../systems/types.js';
import type { Phase, PhaseContext } from './context.js';
import { launchOf } from './launch.js';
import { workPathOf } from './staging-inputs.js';

/**
 * SUBMITTING: its program is handed to the scheduler. Once: with a remote id stored it is not submitted again, and where an
 * earlier attempt may have been cut off in between (JOBS_ERROR_AFTER_SUBMIT) the scheduler is asked for it first. The
 * wrapper sees to the rest: a program that was started is not started again (sheet §3.2).
 */
export const submit: Phase = async (context) => {
  const { job, systems } = context;
  const open = await systems.open(job.orgId, job.systemId);
  if (job.remoteJobId !== null) return context.change({ to: 'QUEUED' });
  const submitted = await begin(context, open);
  const patch = {
    remoteJobId: submitted.remoteJobId,
    schedulerJobId: submitted.schedulerJobId ?? null,
    submitRetries: job.submitRetries + 1,
  };
  try {
    await context.change({ to: 'QUEUED', patch });
  } catch (error) {
    // Something is asked of it, or the worker ends: whoever has it next must know what runs of it.
    if (!(error instanceof JobLost)) await context.note(patch);
    throw error;
  }
};

async function begin(context: PhaseContext, { scheduler, system }: OpenSystem): Promise<Submitted> {
  const { job, again, log } = context;
  const launch = launchOf(job, workPathOf(job), system);
  if (again) {
    const found = await scheduler.find(launch);
    if (found !== null) {
      log.info({ job: job.uuid, remote: found.remoteJobId }, 'was submitted before: found again');
      return found;
    }
  }
  await context.launchTurn(system.host ?? system.name);
  context.mayAct();
  return scheduler.submit(launch);
}
