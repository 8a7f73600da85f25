import type { Organization } from '@muster/platform/auth';
import type { Tasks } from '@muster/tasks';
import { MusterError } from '../../errors.js';
import { Failed } from '../../types.js';
import { SystemTrouble } from '../types.js';
import { type FollowingDeps, followTasks } from './following.js';
import type { TaskRunner } from './types.js';

export interface TaskRunnerDeps extends FollowingDeps {
  readonly tasks: Pick<Tasks['controller'], 'queue' | 'add' | 'act'>;
  /** Undefined: it is gone. */
  readonly organization: (orgId: string) => Promise<Organization | undefined>;
}

/** For so long a job has one task at most: longer than any job is worked on. */
const UNIQUE_SECONDS = 366 * 86_400;
/** Who adds and cancels, in the audit and in what tasks say of themselves. */
const BY = { identity: { type: 'service', name: 'muster-jobs', principalId: 'muster-jobs' } } as const;

/** Over the queues and tasks of this process. */
export function createTaskRunner({ tasks, organization, ...following }: TaskRunnerDeps): TaskRunner & { stop(): void } {
  return {
    ...followTasks(following),
    async add({ system, orgId, queue, job, script, stdout, stderr, maxSeconds }) {
      const org = await organization(orgId);
      const found = tasks.queue(orgId, queue);
      if (org === undefined || found === undefined) {
        throw new Failed(
          'JOB_LAUNCH_FAILURE',
          `system ${system} runs jobs in the queue '${queue}', which does not exist`,
        );
      }
      const options = {
        retries: 0,
        timeout: maxSeconds > 0 ? maxSeconds : null,
        unique: { key: `job/${job}`, seconds: UNIQUE_SECONDS },
      };
      try {
        const [added] = await tasks.add(org, found.id, [{ params: { job, script, stdout, stderr }, options }], BY);
        if (added === undefined) throw new Error('a task was neither added nor refused');
        return added.id;
      } catch (error) {
        throw launchError(system, queue, error);
      }
    },
    async cancel(orgId, task) {
      const org = await organization(orgId);
      if (org !== undefined) await tasks.act(org, [task], 'cancel', BY);
    },
  };
}

/** A queue that is full, or takes nothing now, may take it later. */
function launchError(system: string, queue: string, error: unknown): unknown {
  if (!(error instanceof MusterError)) return error;
  const text = `the queue '${queue}' of system ${system} does not take the job: ${error.message}`;
  if (error.code === 'not_found') return new Failed('JOB_LAUNCH_FAILURE', text, { cause: error });
  return new SystemTrouble(system, 'SCHEDULER_BUSY', text, { cause: error });
}
