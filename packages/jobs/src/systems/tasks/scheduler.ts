import { posix } from 'node:path';
import type { Clock } from '@muster/base';
import type { TaskStanding } from '@muster/tasks';
import { STOP } from '../schedulers/stop.js';
import { exitCodeOf, smallText } from '../schedulers/text.js';
import type { Connection, Launch, RemoteJob, RemoteState, Scheduler, Submitted, System } from '../types.js';
import { STARTED_BY, WRAPPER_FILES } from '../wrapper.js';
import type { TaskRunner } from './types.js';

/** Until a task that was cancelled must be over: an agent kills what a signal did not end. */
const KILL_MS = 120_000;

/** Why a task ended that did not end by itself. */
const CONDITIONS: Readonly<Partial<Record<TaskStanding['status'], string>>> = {
  cancelled: 'SCHEDULER_CANCELLED',
  terminated: 'SCHEDULER_CANCELLED',
  orphaned: 'SCHEDULER_TERMINATED',
};

/** Runs a job as a task of a queue, on one of our own nodes. A remote id is the id of the task. */
export class TaskScheduler implements Scheduler {
  readonly #system: Pick<System, 'name' | 'orgId' | 'queue'>;
  readonly #connection: Connection;
  readonly #runner: TaskRunner;
  readonly #clock: Clock;

  /** @param connection To the directory that the nodes of the queue and this process share. */
  constructor(
    system: Pick<System, 'name' | 'orgId' | 'queue'>,
    connection: Connection,
    runner: TaskRunner,
    clock: Clock,
  ) {
    this.#system = system;
    this.#connection = connection;
    this.#runner = runner;
    this.#clock = clock;
  }

  async submit({ uuid, script, workDirectory, stdout, stderr, maxSeconds }: Launch): Promise<Submitted> {
    const { name, orgId, queue = '' } = this.#system;
    const id = await this.#runner.add({
      system: name,
      orgId,
      queue,
      job: uuid,
      script,
      stdout: posix.join(workDirectory, stdout),
      stderr: posix.join(workDirectory, stderr),
      maxSeconds,
    });
    return { remoteJobId: id, schedulerJobId: id };
  }

  /** Only one that began: to add the task again is to find it. */
  async find({ workDirectory }: Launch): Promise<Submitted | null> {
    const id = await this.#starter(workDirectory);
    return id === null ? null : { remoteJobId: id, schedulerJobId: id };
  }

  async look({ workDirectory, remoteJobId }: RemoteJob): Promise<RemoteState> {
    const standing = await this.#runner.standing(this.#system.orgId, remoteJobId);
    if (standing !== null && !standing.ended) return { state: standing.status === 'running' ? 'running' : 'queued' };
    const code = await exitCodeOf(this.#connection.files, workDirectory);
    if (standing === null && code === null) return { state: 'lost' };
    const condition = standing === null ? null : (CONDITIONS[standing.status] ?? null);
    return {
      state: 'ended',
      code,
      condition: condition ?? (code === null ? 'SCHEDULER_TERMINATED' : null),
      // A task that succeeded has run the program, and says nothing of how that ended.
      detail: standing === null || standing.status === 'succeeded' ? '' : (standing.reason ?? standing.status),
    };
  }

  async kill({ workDirectory, remoteJobId }: Parameters<Scheduler['kill']>[0]): Promise<'ended' | 'unsure'> {
    const stop = await this.#connection.exec(['/bin/sh', '-c', STOP, 'muster', workDirectory]);
    const ids = new Set([remoteJobId, await this.#starter(workDirectory)].filter((id) => id !== null));
    const over = await Promise.all([...ids].map((id) => this.#end(id)));
    return stop.code === 0 && over.every((done) => done) ? 'ended' : 'unsure';
  }

  follow({ remoteJobId }: RemoteJob, changed: () => void): () => void {
    return this.#runner.follow(remoteJobId, changed);
  }

  /** Whether the task is over: told by its events, and looked at once more when it takes too long. */
  async #end(id: string): Promise<boolean> {
    const { orgId } = this.#system;
    const over = async (): Promise<boolean> => (await this.#runner.standing(orgId, id))?.ended !== false;
    let stop = (): void => undefined;
    const told = new Promise<boolean>((resolve, reject) => {
      const look = (): void => {
        over().then((ended) => ended && resolve(true), reject);
      };
      const unfollow = this.#runner.follow(id, look);
      const timer = this.#clock.after(KILL_MS, () => over().then(resolve, reject));
      stop = () => {
        unfollow();
        timer.cancel();
      };
    });
    // Told only when it is waited for.
    told.catch(() => undefined);
    try {
      if (await over()) return true;
      await this.#runner.cancel(orgId, id);
      return (await over()) || (await told);
    } finally {
      stop();
    }
  }

  async #starter(workDirectory: string): Promise<string | null> {
    const { started } = WRAPPER_FILES;
    const by = await smallText(this.#connection.files, posix.join(workDirectory, started, STARTED_BY));
    return by !== null && /^[0-9a-f]{24}$/.test(by) ? by : null;
  }
}
