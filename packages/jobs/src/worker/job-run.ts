import type { Clock } from '@muster/base';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Write } from '@muster/store';
import { mayRun } from '../may-run.js';
import type { PhaseContext, PhasePorts } from '../phases/context.js';
import { PHASE_OF } from '../phases/phases.js';
import { remoteEnd } from '../phases/remote-end.js';
import { tidy } from '../phases/tidy.js';
import { blockedRows, killRows } from '../recovery/enter.js';
import { outcomeOf } from '../recovery/outcome.js';
import { type Change, type Check, JobLost, type JobStore, JobWanted } from '../repository/job-store.js';
import { isActive, type Status } from '../status.js';
import { Blocked, type Job, type Obstacle } from '../types.js';
import { Interrupted, type Interruption, TenureLost } from './interrupted.js';
import { LIMITS } from './limits.js';
import { isStoreAway, patiently } from './patience.js';
import { pause, pauseOr } from './pause.js';
import type { RecoveryCalls } from './recovery-calls.js';
import type { Tenure } from './tenure.js';
import type { Turns } from './turns.js';

/**
 * How the work on a job ended.
 *
 * | end | what is so | its message |
 * |---|---|---|
 * | `over` | it is terminal, or recovery has it | done with |
 * | `taken` | somebody else has it, or has changed it | it is looked at again |
 * | `lease` | this worker may not act for its jobs any more | it is looked at again, by the worker's successor |
 * | `stopping` | it is as it was stored last | given back |
 * | `zombie` | how it ended could not be stored | a dead letter |
 */
export type RunEnd = 'over' | 'taken' | 'lease' | 'stopping' | 'zombie';

export interface RunDeps {
  readonly jobs: JobStore;
  readonly ports: PhasePorts;
  readonly recovery: RecoveryCalls;
  readonly tenure: Tenure;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly log: LayerLog;
}

/**
 * The work on one job, from when a worker takes it until it lets it go. Nothing else changes the job meanwhile. What is done
 * next depends on its stored status and on what is asked of it, on nothing else (sheet §3.4).
 */
export class JobRun {
  readonly #deps: RunDeps;
  #job: Job;
  /** The status was begun before. */
  #again: boolean;
  #controller = new AbortController();
  /** Somebody may ask something of the job: its row says what. */
  #heard = false;
  /** The worker ends. What was done is stored all the same, if that goes at once. */
  readonly #ending = new AbortController();

  /** @param job As it was read: it is taken first. */
  constructor(deps: RunDeps, job: Job) {
    this.#deps = deps;
    this.#job = job;
    this.#again = job.status !== 'ACCEPTED';
  }

  get job(): Job {
    return this.#job;
  }

  async run(): Promise<RunEnd> {
    const taken = await this.#take();
    if (taken !== null) return taken;
    for (;;) {
      const end = await this.#turn();
      if (end !== null) return end;
    }
  }

  /** A command came, or one may have been missed. */
  async hear(): Promise<void> {
    const { jobs, log } = this.#deps;
    const { uuid } = this.#job;
    const row = await jobs.find(uuid).catch((err: unknown) => {
      log.warn({ err, job: uuid }, 'what is asked of the job cannot be read now');
      return undefined;
    });
    const changed =
      row === undefined || row === null || row.wanted !== this.#job.wanted || row.epoch !== this.#job.epoch;
    if (!changed) return;
    this.#heard = true;
    this.#interrupt('wanted');
  }

  /** The worker ends. */
  stop(): void {
    this.#ending.abort(new Interrupted('stopping'));
    this.#interrupt('stopping');
  }

  /** The worker may not act for now. */
  doubt(): void {
    this.#interrupt('unsure');
  }

  #interrupt(reason: Interruption): void {
    this.#controller.abort(new Interrupted(reason));
  }

  async #turn(): Promise<RunEnd | null> {
    this.#controller = new AbortController();
    try {
      if (this.#ending.signal.aborted) return 'stopping';
      await this.#deps.tenure.held(this.#ending.signal);
      if (this.#heard) await this.#read();
      if (this.#job.wanted !== null) await this.#obey();
      else if (isActive(this.#job.status)) await PHASE_OF[this.#job.status](this.#context());
      return isActive(this.#job.status) ? null : await this.#over();
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** From now on nobody else writes to it. null: it is taken. */
  async #take(): Promise<RunEnd | null> {
    const { jobs, tenure, turns } = this.#deps;
    const job = this.#job;
    const { signal } = this.#ending;
    const mine = { worker: tenure.worker, epoch: job.epoch + 1 };
    try {
      if (job.status === 'ACCEPTED') {
        this.#job = await this.#stored(() => jobs.change(job, { to: 'PENDING', patch: mine }));
        await turns.start(job.uuid, signal);
      } else {
        this.#job = await this.#stored(() => jobs.note(job, mine));
      }
      return null;
    } catch (error) {
      if (signal.aborted) return 'stopping';
      if (error instanceof JobLost || error instanceof JobWanted) return 'taken';
      if (error instanceof TenureLost) return 'lease';
      throw error;
    }
  }

  async #over(): Promise<RunEnd> {
    if (this.#job.status === 'FINISHED') await tidy(this.#context());
    return 'over';
  }

  /** What became of a turn that did not come to its end. null: the next one follows. */
  async #failed(error: unknown): Promise<RunEnd | null> {
    const known = this.#afterAll(error);
    if (known !== undefined) return known;
    if (this.#ending.signal.aborted) return 'stopping';
    if (this.#controller.signal.aborted) {
      // What ends a phase is often an error of whatever it was doing.
      this.#again = true;
      return null;
    }
    const { log } = this.#deps;
    const outcome = outcomeOf(error, this.#job);
    const { uuid, status } = this.#job;
    try {
      if (outcome === null && isStoreAway(error)) {
        await this.#untilStored();
        return null;
      }
      if (outcome instanceof Blocked) {
        log.info({ job: uuid, status, condition: outcome.obstacle.condition, why: outcome.message }, 'job is blocked');
        await this.#block(outcome.obstacle);
        return 'over';
      }
      if (outcome === null) log.error({ err: error, job: uuid, status }, 'JOBS_WORKER_PROCESSING_ERROR');
      const internal = `Muster has failed at it: ${error instanceof Error ? error.message : String(error)}`;
      await this.#fail(outcome?.condition ?? 'JOB_INTERNAL_ERROR', outcome?.message ?? internal);
      return 'over';
    } catch (second) {
      const after = this.#afterAll(second);
      if (after !== undefined) return after;
      if (this.#ending.signal.aborted) return 'stopping';
      log.error(
        { err: second, cause: error, job: uuid },
        'JOBS_WORKER_ZOMBIE_ERROR how the job ended cannot be stored',
      );
      return 'zombie';
    }
  }

  /** Of what says whose the job is. undefined: it does not. */
  #afterAll(error: unknown): RunEnd | null | undefined {
    if (error instanceof JobLost) return 'taken';
    if (error instanceof TenureLost) return 'lease';
    if (error instanceof JobWanted) {
      this.#job = error.job;
      this.#again = true;
      return null;
    }
    return undefined;
  }

  /** A phase has missed the database: it is done again when that is back. */
  async #untilStored(): Promise<void> {
    this.#again = true;
    await pause(this.#deps.clock, LIMITS.storeFirstMs, this.#ending.signal);
    await this.#read();
  }

  async #read(): Promise<void> {
    const row = await this.#stored(() => this.#deps.jobs.find(this.#job.uuid));
    if (row === null || row.epoch !== this.#job.epoch || row.status !== this.#job.status) {
      throw new JobLost(`job ${this.#job.uuid} is not as it was left`);
    }
    this.#heard = false;
    this.#job = row;
  }

  /** What is asked of it comes before all else, also before recovery (sheet §6.4). */
  async #obey(): Promise<void> {
    const { wanted, uuid } = this.#job;
    const by = (await this.#stored(() => this.#deps.jobs.askedBy(uuid))) ?? this.#job.owner;
    if (wanted === 'stop') return this.#stop(by);
    if (wanted === 'pause') {
      await this.#change({ to: 'PAUSED', by, patch: { wanted: null, worker: null } });
      return;
    }
    // It is not paused: there is nothing to resume.
    await this.#note({ wanted: null });
  }

  /** STOPPED is stored first; then the remote end is ended, here or by recovery, until that is confirmed. */
  async #stop(by: string): Promise<void> {
    const { recovery, clock } = this.#deps;
    const before = this.#job;
    const kill = mayRun(before) ? killRows(before, clock.now()) : [];
    await this.#change({ to: 'STOPPED', by, patch: { wanted: null } }, kill);
    if (!mayRun(before)) return;
    if (await remoteEnd(this.#context(), before)) {
      await this.#stored(() => recovery.ended(this.#job));
      await this.#note({ remoteEnded: clock.now() });
      return;
    }
    const said = 'JOBS_CMD_KILL_ERROR it could not be confirmed that its program has ended: it is tried again';
    const entry = this.#deps.jobs.entry(this.#job, 'JOB_ERROR_MESSAGE', by, said);
    await this.#note({}, [entry]);
    await recovery.unconfirmed(this.#job);
  }

  async #block(obstacle: Obstacle): Promise<void> {
    const { recovery, clock } = this.#deps;
    const { condition, message } = obstacle;
    const rows = blockedRows(this.#job, obstacle, clock.now());
    await this.#change({ to: 'BLOCKED', condition, message, patch: { worker: null } }, rows);
    await recovery.blocked(this.#job, obstacle);
  }

  async #fail(condition: string, message: string): Promise<void> {
    const { recovery, clock } = this.#deps;
    const before = this.#job;
    const left = mayRun(before) && before.remoteEnded === null;
    await this.#change({ to: 'FAILED', condition, message }, left ? killRows(before, clock.now()) : []);
    if (left) await recovery.unconfirmed(this.#job);
  }

  async #change(change: Change, also: readonly Write[] = [], check: Check | null = null): Promise<void> {
    const from: Status = this.#job.status;
    this.#job = await this.#stored(() => this.#deps.jobs.change(this.#job, change, also, check));
    this.#again = this.#job.status === from;
  }

  /** What was seen is so whatever is asked of the job; what is asked comes next. */
  async #note(patch: Partial<Job>, also: Parameters<JobStore['note']>[2] = []): Promise<void> {
    try {
      this.#job = await this.#stored(() => this.#deps.jobs.note(this.#job, patch, also));
    } catch (error) {
      if (!(error instanceof JobWanted)) throw error;
      this.#job = error.job;
      this.#interrupt('wanted');
      // Something else is asked by now than what was done: it stays asked.
      if ('wanted' in patch) return;
      this.#job = await this.#stored(() => this.#deps.jobs.note(this.#job, patch, also));
    }
  }

  async #tell(event: string, description: string): Promise<void> {
    const { jobs } = this.#deps;
    const { owner } = this.#job;
    const told = await this.#stored(() => jobs.toldEntry(this.#job, event, owner, description));
    await this.#note({}, told.writes);
    told.stored();
  }

  /** Only while the lease is held, and again until the database is there. */
  #stored<T>(work: () => Promise<T>): Promise<T> {
    const { clock, tenure } = this.#deps;
    return patiently(clock, this.#ending.signal, async () => {
      await tenure.held(this.#ending.signal);
      return work();
    });
  }

  #context(): PhaseContext {
    const { ports, clock, tenure, turns } = this.#deps;
    const { signal } = this.#controller;
    const run = this;
    return {
      ...ports,
      get job() {
        return run.#job;
      },
      again: this.#again,
      signal,
      change: async (change, check) => {
        signal.throwIfAborted();
        await this.#change(change, [], check);
      },
      note: (patch) => this.#note(patch),
      tell: (event, description) => this.#tell(event, description),
      wait: (ms) => pause(clock, ms, signal),
      waitOr: (ms, begin) => pauseOr(clock, ms, signal, begin),
      mayAct: () => {
        signal.throwIfAborted();
        if (!tenure.holds) throw new Interrupted('unsure');
      },
      launchTurn: (host) => turns.launch(`${this.#job.orgId}/${host}`, signal),
    };
  }
}
