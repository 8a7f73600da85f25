import type { Job } from '../types.js';
import type { PhaseContext } from './context.js';
import { workPathOf } from './staging-inputs.js';

/** Ends what runs of it. True: it is certain that nothing does, nor ever will. @param job As it was before it ended. */
export async function remoteEnd({ systems, log }: Pick<PhaseContext, 'systems' | 'log'>, job: Job): Promise<boolean> {
  const { uuid, orgId, systemId, remoteJobId, schedulerJobId } = job;
  const workDirectory = workPathOf(job);
  try {
    const { scheduler } = await systems.open(orgId, systemId);
    const remote = { uuid, workDirectory, remoteJobId, ...(schedulerJobId !== null && { schedulerJobId }) };
    return (await scheduler.kill(remote)) === 'ended';
  } catch (err) {
    log.warn({ err, job: uuid }, 'JOBS_CMD_KILL_ERROR the program of a stopped job could not be ended now');
    return false;
  }
}
