import type { TaskStanding } from '@muster/tasks';

/** Queues and tasks, as far as running jobs on them needs. */
export interface TaskRunner {
  /**
   * Adds the task of a job, once, however often it is asked. Answers its id.
   * @throws Failed, SystemTrouble
   */
  add(task: {
    readonly system: string;
    readonly orgId: string;
    readonly queue: string;
    /** Uuid of the job. */
    readonly job: string;
    /** Absolute paths: of the wrapper, and of what its outputs are appended to. */
    readonly script: string;
    readonly stdout: string;
    readonly stderr: string;
    /** Seconds; 0: no limit. */
    readonly maxSeconds: number;
  }): Promise<string>;
  /** Null: there is no such task. */
  standing(orgId: string, task: string): Promise<TaskStanding | null>;
  /** One that is over stays as it is. */
  cancel(orgId: string, task: string): Promise<void>;
  /** Told when a task stands otherwise than before. Returns how to stop. */
  follow(task: string, changed: () => void): () => void;
}
