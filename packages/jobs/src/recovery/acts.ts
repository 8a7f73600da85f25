import type { Clock } from '@muster/base';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store, Write } from '@muster/store';
import type { Condition } from '../machine.js';
import { mayRun } from '../may-run.js';
import { JobLost, type JobStore, JobWanted } from '../repository/job-store.js';
import type { Status } from '../status.js';
import type { Systems } from '../systems/types.js';
import { Failed, type Job } from '../types.js';
import { killRows, releasingRow, remoteEndOf } from './enter.js';
import { testerHash } from './grouping.js';
import type { BlockedRow, RecoveryRows } from './repository.js';

export interface ActsDeps {
  readonly jobs: JobStore;
  readonly rows: RecoveryRows;
  readonly store: Store;
  readonly systems: Pick<Systems, 'open'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: LayerLog;
  /** Goes with every change: nothing is stored by a reader that was replaced. */
  readonly fence: Write;
  /** A job joined the record of this id. */
  readonly joined: (recoveryId: string) => void;
}

const STOPPED_SAYS = 'Job stopped by request.';
const PAUSED_SAYS = 'Job paused by request.';
/** A job that others change at the same time is looked at again. */
const ATTEMPTS = 5;

type Change = Parameters<JobStore['change']>[1];

/** Changes of jobs that are BLOCKED or PAUSED. The reader is the only one who makes them (sheet §2.5). */
export class RecoveryActs {
  readonly #deps: ActsDeps;

  constructor(deps: ActsDeps) {
    this.#deps = deps;
  }

  /** The job goes on where it was; its message is published by `Releases`. False: it is not BLOCKED any more. */
  async release({ uuid, recovery_id: record, message }: BlockedRow): Promise<boolean> {
    return this.#act(uuid, ['BLOCKED'], async (job) => {
      if (job.wanted === 'stop') return this.#stop(job, null, STOPPED_SAYS);
      if (job.wanted === 'pause') return this.#pause(job, null, PAUSED_SAYS);
      await this.#goOn(job, record, message, null);
    });
  }

  /** A BLOCKED job fails. What runs of it remotely is ended, if it can be. */
  async fail(uuid: string, condition: Condition, reason: string): Promise<boolean> {
    return this.#act(uuid, ['BLOCKED'], async (job) => {
      const message = `${condition}: ${reason}. It was blocked: ${job.lastMessage}`;
      await this.#change(job, { to: 'FAILED', condition, message, patch: { wanted: null } });
      await this.#afterEnd(job);
    });
  }

  /** @param by Who asked; null: whoever is stored as having asked, or the owner. */
  stop(uuid: string, by: string | null, says: string): Promise<boolean> {
    return this.#act(uuid, ['BLOCKED', 'PAUSED'], (job) => this.#stop(job, by, says));
  }

  pause(uuid: string, by: string | null, says: string): Promise<boolean> {
    return this.#act(uuid, ['BLOCKED'], (job) => this.#pause(job, by, says));
  }

  resume(uuid: string, by: string | null, says: string): Promise<boolean> {
    return this.#act(uuid, ['PAUSED'], (job) => this.#goOn(job, '', says, by));
  }

  /** Does what is asked of it and stored there. */
  async wanted(uuid: string): Promise<boolean> {
    const job = await this.#deps.jobs.find(uuid);
    if (job?.wanted === 'stop') return this.stop(uuid, null, STOPPED_SAYS);
    if (job?.wanted === 'pause') return this.pause(uuid, null, PAUSED_SAYS);
    if (job?.wanted === 'resume') return this.resume(uuid, null, 'Job resumed by request.');
    return false;
  }

  /** A BLOCKED job that waits for nothing, as after a loss of rows: it tries again, and is blocked as it should be. */
  async releaseLost(uuid: string): Promise<boolean> {
    const says = 'It was blocked, and nobody knows for what any more: it tries again.';
    return this.#act(uuid, ['BLOCKED'], (job) => this.#goOn(job, '', says, null));
  }

  /**
   * Ends what runs remotely of a job that has ended. True: it is certain that nothing of it runs, or nobody can ever find out.
   * @throws what the system throws
   */
  async kill(uuid: string): Promise<boolean> {
    const { jobs, rows, systems, log } = this.#deps;
    const job = await jobs.find(uuid);
    if (job === null || job.workPath === null) {
      await rows.drop([uuid], 'killing');
      return true;
    }
    const { remoteJobId, schedulerJobId, systemId, workPath } = job;
    try {
      const { scheduler } = await systems.open(job.orgId, systemId);
      const remote = { remoteJobId, ...(schedulerJobId !== null && { schedulerJobId }) };
      if ((await scheduler.kill({ uuid, workDirectory: workPath, ...remote })) === 'unsure') return false;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      await this.unconfirmed(uuid, error.message);
      return true;
    }
    await this.#entry(job, 'REMOTE_ENDED', `Nothing of it runs on ${systemId} any more.`);
    await rows.drop([uuid], 'killing');
    log.debug({ job: uuid, system: systemId }, 'what ran remotely of a job that ended was ended');
    return true;
  }

  /** It is given up: history says so. */
  async unconfirmed(uuid: string, reason: string): Promise<void> {
    const { jobs, rows, log } = this.#deps;
    const job = await jobs.find(uuid);
    if (job !== null) {
      const says = `It could not be confirmed that its program ${job.remoteJobId ?? ''} on ${job.systemId} has ended: ${reason}`;
      await this.#entry(job, 'REMOTE_END_UNCONFIRMED', says);
      log.warn({ job: uuid, system: job.systemId, reason }, 'JOBS_REMOTE_END_UNCONFIRMED');
    }
    await rows.drop([uuid], 'killing');
  }

  async #entry(job: Job, event: string, says: string): Promise<void> {
    await this.#deps.store.commit([this.#deps.fence, this.#deps.jobs.entry(job, event, job.owner, says)]);
  }

  async #goOn(job: Job, record: string, message: string, by: string | null): Promise<void> {
    const { rows, clock } = this.#deps;
    const to = job.resumeAt ?? 'PENDING';
    // Whoever had it has acknowledged its message: anybody may take it.
    const patch = { worker: null, wanted: null };
    const row = releasingRow(job, record, message, clock.now());
    const said = by ?? (job.wanted === null ? null : await rows.wantedBy(job.uuid));
    await this.#change(job, { to, message, patch, ...(said !== null && { by: said }) }, [row]);
  }

  async #pause(job: Job, by: string | null, says: string): Promise<void> {
    await this.#change(job, { to: 'PAUSED', message: says, patch: { wanted: null }, by: await this.#asker(job, by) });
    await this.#deps.rows.drop([job.uuid], 'waiting');
  }

  /** Stored first; then what runs remotely is ended. */
  async #stop(job: Job, by: string | null, says: string): Promise<void> {
    await this.#change(job, { to: 'STOPPED', message: says, patch: { wanted: null }, by: await this.#asker(job, by) });
    await this.#afterEnd(job);
  }

  /** @param job As it was before its end. */
  async #afterEnd(job: Job): Promise<void> {
    const { rows, log, joined } = this.#deps;
    if (!mayRun(job)) return rows.drop([job.uuid], 'waiting');
    try {
      await this.kill(job.uuid);
    } catch (error) {
      log.info(
        { err: error, job: job.uuid },
        'what runs remotely of a job that ended cannot be ended now; trying again',
      );
    }
    joined(testerHash(job.tenant, remoteEndOf(job)));
  }

  async #asker({ uuid, owner, wanted }: Job, by: string | null): Promise<string> {
    return by ?? (wanted === null ? null : await this.#deps.rows.wantedBy(uuid)) ?? owner;
  }

  async #change(job: Job, change: Change, also: readonly Write[] = []): Promise<void> {
    const { jobs, clock, fence } = this.#deps;
    const ended = change.to === 'STOPPED' || change.to === 'FAILED';
    const kill = ended ? killRows(job, clock.now()) : [];
    await jobs.change(job, change, [fence, ...kill, ...also]);
  }

  /** @throws JobLost when the lease is another's now, or others change it again and again */
  async #act(uuid: string, from: readonly Status[], act: (job: Job) => Promise<void>): Promise<boolean> {
    const { jobs } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      const job = await jobs.find(uuid);
      if (job === null || !from.includes(job.status)) return false;
      try {
        await act(job);
        return true;
      } catch (error) {
        if (!(error instanceof JobWanted || error instanceof JobLost) || attempt === ATTEMPTS) throw error;
      }
    }
  }
}
