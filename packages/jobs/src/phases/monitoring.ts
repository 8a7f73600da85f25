import type { OpenSystem, RemoteJob, RemoteState } from '../systems/types.js';
import { SystemTrouble } from '../systems/types.js';
import { Blocked, Failed, type Job, UNKNOWN_END } from '../types.js';
import type { Phase, PhaseContext } from './context.js';
import { LIMITS } from './limits.js';
import { workPathOf } from './staging-inputs.js';
import { lookPause } from './steps.js';

/** QUEUED: until it is seen running, or ended between two looks. */
export const watchQueued: Phase = (context) => new Watch(context).until('running');

/** RUNNING: until it has ended, or its time is over. */
export const watchRunning: Phase = async (context) => {
  if (context.job.remoteOutcome !== null) return context.change({ to: 'CLEANING_UP' });
  await new Watch(context).until('ended');
};

/** Looks at one program, with longer and longer pauses, until it is as it should be (sheet §3.3). */
class Watch {
  readonly #context: PhaseContext;
  readonly #remote: RemoteJob;
  /** Looks that nobody has stored yet. */
  #good = 0;
  #bad = 0;
  #lastCheck: number | null;
  #storedAt: number;
  /** Monotonic: since when every look has failed. */
  #failingSince: number | null = null;
  #lost = 0;
  /** It was running, and waits again: its scheduler has taken it back. */
  #back = false;

  constructor(context: PhaseContext) {
    this.#context = context;
    this.#remote = remoteOf(context.job);
    this.#lastCheck = context.job.lastCheck;
    this.#storedAt = context.clock.monotonic();
  }

  async until(wanted: 'running' | 'ended'): Promise<void> {
    const { systems, clock, signal } = this.#context;
    for (let looks = 0; ; ) {
      signal.throwIfAborted();
      const { orgId, systemId } = this.#context.job;
      const open = await systems.open(orgId, systemId);
      const seen = await this.#look(open);
      if (seen !== null && (await this.#take(seen, wanted))) return;
      await this.#expire(open, wanted);
      await this.#countersWhenDue();
      const lost = seen?.state === 'lost';
      await this.#pause(open, lost ? LIMITS.lostPauseMs : lookPause(looks, clock.monotonic()));
      if (!lost) looks += 1;
    }
  }

  /** null: it could not be seen. A connection that broke is tried once more; then it is a matter of recovery. */
  async #look({ scheduler }: OpenSystem): Promise<RemoteState | null> {
    const { clock, log, job } = this.#context;
    this.#lastCheck = clock.now();
    for (let attempt = 1; ; attempt++) {
      try {
        const seen = await scheduler.look(this.#remote);
        this.#good += 1;
        this.#failingSince = null;
        return seen;
      } catch (error) {
        this.#bad += 1;
        if (error instanceof SystemTrouble || error instanceof Blocked || error instanceof Failed) {
          if (attempt === 1 && error instanceof SystemTrouble) continue;
          throw error;
        }
        this.#failingSince ??= clock.monotonic();
        log.warn({ err: error, job: job.uuid }, 'how the program stands could not be seen');
        return null;
      }
    }
  }

  /** True: the status has changed. */
  async #take(seen: RemoteState, wanted: 'running' | 'ended'): Promise<boolean> {
    const context = this.#context;
    switch (seen.state) {
      case 'queued':
        this.#lost = 0;
        if (wanted === 'ended') await this.#tellBack(true);
        return false;
      case 'running':
        this.#lost = 0;
        if (wanted === 'ended') {
          await this.#tellBack(false);
          return false;
        }
        await context.change({ to: 'RUNNING', patch: this.#counters() });
        return true;
      case 'ended':
        await context.change({
          to: 'CLEANING_UP',
          message: endText(seen),
          patch: { ...this.#counters(), ...endOf(context.job, seen, context.clock.now()) },
        });
        return true;
      case 'lost':
        this.#lost += 1;
        if (this.#lost === 1) {
          const says = `${context.job.systemId} says nothing of ${this.#remote.remoteJobId}: it is asked again`;
          await context.tell('EMPTY_STATUS_RESPONSE', says);
        }
        if (this.#lost <= LIMITS.lostLooks) return false;
        return this.#giveUp(
          UNKNOWN_END,
          `${context.job.systemId} knows nothing of ${this.#remote.remoteJobId}, and no exit code of it is there`,
        );
    }
  }

  /** Changes there that are no change of its status here. */
  async #tellBack(back: boolean): Promise<void> {
    if (back === this.#back) return;
    this.#back = back;
    const { job, tell } = this.#context;
    await tell('REMOTE_STATUS_CHANGE', back ? `${job.systemId} has put it back into its queue` : 'It runs again');
  }

  /** @throws Failed when it has taken too long, or could not be seen for too long */
  async #expire({ scheduler }: OpenSystem, wanted: 'running' | 'ended'): Promise<void> {
    const { job, clock } = this.#context;
    const failing = this.#failingSince === null ? 0 : clock.monotonic() - this.#failingSince;
    if (failing > LIMITS.failingMs) {
      const minutes = LIMITS.failingMs / 60_000;
      await this.#giveUp(
        wanted === 'running' ? 'JOB_QUEUE_MONITORING_ERROR' : 'JOB_EXECUTION_MONITORING_ERROR_TIMEOUT',
        `TOO_MANY_FAILURES how it stands could not be seen for ${minutes} minutes`,
      );
    }
    const since = wanted === 'running' ? (job.remoteSubmitted ?? job.accepted) : (job.remoteStarted ?? job.accepted);
    const most = wanted === 'running' ? LIMITS.queuedMs : job.maxSeconds * 1000 + LIMITS.graceMs;
    if (clock.now() - since <= most) return;
    this.#context.mayAct();
    const killed = await scheduler.kill(this.#remote);
    const end = killed === 'ended' ? 'it was ended' : 'whether it ended is not certain';
    await this.#giveUp(
      wanted === 'running' ? 'JOB_QUEUE_MONITORING_ERROR' : 'JOB_EXECUTION_MONITORING_TIMEOUT',
      `TIME_EXPIRED ${wanted === 'running' ? 'it waited in the batch queue' : 'it ran'} for too long: ${end}`,
      killed === 'ended',
    );
  }

  /** Its outputs are left where they are. Unless it has ended for certain it is ended when the failure is stored. */
  async #giveUp(condition: string, message: string, ended = false): Promise<never> {
    const remoteEnded = ended ? this.#context.clock.now() : null;
    await this.#context.note({ ...this.#counters(), remoteOutcome: 'FAILED_SKIP_ARCHIVE', remoteEnded });
    throw new Failed(condition, message);
  }

  async #pause({ scheduler }: OpenSystem, ms: number): Promise<void> {
    await this.#context.waitOr(ms, (wake) => scheduler.follow?.(this.#remote, wake) ?? (() => undefined));
  }

  /** A look that shows nothing new is not worth a transaction. */
  async #countersWhenDue(): Promise<void> {
    if (this.#context.clock.monotonic() - this.#storedAt < LIMITS.countersMs) return;
    await this.#context.note(this.#counters());
  }

  /** What is to be stored of the looks since the last time. */
  #counters(): Pick<Job, 'statusChecks' | 'failedChecks' | 'lastCheck'> {
    const { job, clock } = this.#context;
    const counters = {
      statusChecks: job.statusChecks + this.#good,
      failedChecks: job.failedChecks + this.#bad,
      lastCheck: this.#lastCheck,
    };
    this.#good = 0;
    this.#bad = 0;
    this.#storedAt = clock.monotonic();
    return counters;
  }
}

/** @throws Error when it was never submitted */
export function remoteOf(job: Job): RemoteJob {
  const { uuid, remoteJobId, schedulerJobId } = job;
  if (remoteJobId === null) throw new Error(`job ${uuid} is ${job.status} and has no remote id`);
  const workDirectory = workPathOf(job);
  return { uuid, workDirectory, remoteJobId, ...(schedulerJobId !== null && { schedulerJobId }) };
}

type Ended = RemoteState & { readonly state: 'ended' };

/** Outcomes of sheet §3.2. */
function endOf({ archiveOnAppError }: Job, { code, condition, detail }: Ended, now: number): Partial<Job> {
  const good = code === 0 && condition === null;
  const bad = archiveOnAppError ? 'FAILED' : 'FAILED_SKIP_ARCHIVE';
  return {
    remoteEnded: now,
    remoteOutcome: good ? 'FINISHED' : bad,
    exitCode: code,
    remoteCondition: condition,
    remoteDetail: detail,
  };
}

function endText({ code, condition, detail }: Ended): string {
  if (code === 0 && condition === null) return 'Job completed execution';
  const why = [condition, detail].filter(Boolean).join(' ');
  return `Job completed execution: ${why === '' ? '' : `${why}, `}exit code ${code ?? 'unknown'}`;
}
