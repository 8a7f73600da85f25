import type { Broker, Outgoing } from '@muster/broker';
import type { LayerLog } from '@muster/platform/upkeep';
import { MusterError } from '../errors.js';
import { commandOf, type RecoveryCommand, recoveryCommandOf } from '../messages.js';
import { JobLost, type JobStore, JobWanted } from '../repository/job-store.js';
import { isActive, isTerminal } from '../status.js';
import type { Doer, Job, Wanted } from '../types.js';

export interface CommandsDeps {
  readonly jobs: JobStore;
  readonly broker: Pick<Broker, 'publish'>;
  readonly logger: Pick<LayerLog, 'warn'>;
}

/** A job that changes faster than it can be looked at. */
const MOST_TRIES = 20;

/**
 * What people ask of a job that others work on. It is stored before it is told: whoever has the job, or gets it, finds it, whatever
 * becomes of the messages (sheet §6.3, §6.4).
 */
export class JobCommands {
  readonly #deps: CommandsDeps;

  constructor(deps: CommandsDeps) {
    this.#deps = deps;
  }

  /** One that nobody has begun ends at once. @throws MusterError `job_ended` */
  async stop(job: Job, by: Doer): Promise<Job> {
    return this.#ask(job, 'stop', by, 'CANCEL_RECOVER', ({ uuid, status }) => {
      if (isTerminal(status)) throw new MusterError('job_ended', { job: uuid, status });
    });
  }

  /** @throws MusterError `job_ended` */
  async pause(job: Job, by: Doer): Promise<Job> {
    return this.#ask(job, 'pause', by, 'PAUSE_RECOVER', ({ uuid, status }) => {
      if (isTerminal(status)) throw new MusterError('job_ended', { job: uuid, status });
    });
  }

  /** @throws MusterError `job_not_paused` */
  async resume(job: Job, by: Doer): Promise<Job> {
    return this.#ask(job, 'resume', by, 'RESUME_JOB', ({ uuid, status }) => {
      if (status !== 'PAUSED') throw new MusterError('job_not_paused', { job: uuid, status });
    });
  }

  async #ask(
    given: Job,
    wanted: Wanted,
    by: Doer,
    toRecovery: RecoveryCommand,
    check: (job: Job) => void,
  ): Promise<Job> {
    const { jobs } = this.#deps;
    let job = given;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      check(job);
      const done = await this.#askOnce(job, wanted, by);
      if (done !== null) {
        await this.#tell(done, wanted, by, toRecovery);
        return done;
      }
      job = (await jobs.find(job.uuid)) ?? job;
    }
    throw new MusterError('too_busy', { what: `changes of job ${job.uuid}`, limit: MOST_TRIES });
  }

  /** null: it is not as it was read. */
  async #askOnce(job: Job, wanted: Wanted, by: Doer): Promise<Job | null> {
    const { jobs } = this.#deps;
    if (wanted === 'stop' && job.status === 'ACCEPTED') {
      try {
        return await jobs.change(job, { to: 'STOPPED', by, patch: { wanted: null } });
      } catch (error) {
        if (error instanceof JobLost || error instanceof JobWanted) return null;
        throw error;
      }
    }
    // A stop outweighs whatever else is asked; what is asked already is told again.
    if (job.wanted === wanted || job.wanted === 'stop') return job;
    if (wanted === 'pause' && job.status === 'PAUSED' && job.wanted === null) return job;
    return (await jobs.want(job, wanted, by)) ? { ...job, wanted } : null;
  }

  /** Who misses it finds what is wanted at the next change of the job, and recovery at once. */
  async #tell(job: Job, wanted: Wanted, by: Doer, toRecovery: RecoveryCommand): Promise<void> {
    const messages: Outgoing[] = [];
    if (isActive(job.status) && wanted !== 'resume') {
      messages.push(commandOf(job, wanted === 'stop' ? 'JOB_CANCEL' : 'JOB_PAUSE'));
    }
    // It may be blocked by the time that its worker hears of it.
    if (job.status !== 'ACCEPTED' && !isTerminal(job.status))
      messages.push(recoveryCommandOf(job, toRecovery, by.user));
    for (const message of messages) {
      try {
        await this.#deps.broker.publish(message);
      } catch (error) {
        this.#deps.logger.warn(
          { err: error, job: job.uuid, wanted },
          'what is asked of a job is stored, and could not be told',
        );
      }
    }
  }
}
