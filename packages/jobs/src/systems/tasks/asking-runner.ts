import type { Recorder } from '@muster/platform/log';
import type { Asking } from '../asking/asking.js';
import { type FollowingDeps, followTasks } from './following.js';
import type { TaskRunner } from './types.js';

export interface AskingRunnerDeps extends FollowingDeps {
  readonly asking: Asking;
  readonly recorder: Pick<Recorder, 'onStored' | 'follow'>;
}

/** Queues and tasks of a server, for a worker in another process on the same database and broker. */
export function createAskingRunner({ asking, ...deps }: AskingRunnerDeps): TaskRunner & { stop(): void } {
  const { recorder } = deps;
  const following = followTasks(deps);
  return {
    stop: following.stop,
    async add(task) {
      const done = await asking.ask({ msgType: 'TASK_ADD', ...task });
      if ('task' in done) return done.task;
      throw new Error('a server has answered what it was not asked: is it of another version?');
    },
    standing: following.standing,
    async cancel(orgId, task) {
      await asking.ask({ msgType: 'TASK_CANCEL', orgId, task });
    },
    follow(task, changed) {
      // What others store is read from the first time on that somebody wants to hear of it.
      recorder.follow();
      return following.follow(task, changed);
    },
  };
}
