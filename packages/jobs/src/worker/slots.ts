import { type Broker, type Delivery, type Incoming, jobTopic } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Job } from '../types.js';
import { Interrupted } from './interrupted.js';
import { JobRun, type RunDeps, type RunEnd } from './job-run.js';
import { LIMITS } from './limits.js';
import { readJobCommand, readSubmission, type Submission } from './messages.js';
import type { OtherWorkers, Standing } from './others.js';
import { patiently } from './patience.js';
import { pause } from './pause.js';
import { decide } from './taking.js';
import type { Tenure } from './tenure.js';

export interface SlotsDeps extends Omit<RunDeps, 'tenure'> {
  readonly organization: Pick<Organization, 'id' | 'name'>;
  readonly broker: Broker;
  readonly others: OtherWorkers;
  /** The one under which jobs are taken now; it is another after the last was lost. */
  readonly tenure: () => Promise<Tenure>;
  /** How many deliveries stand in for jobs of others: they take no slot. */
  readonly standIns: (count: number) => void;
}

/** What was decided upon is not so any more: it is decided again. */
const AGAIN = 'again';
type Step = 'done' | typeof AGAIN;

/**
 * Works on the jobs whose messages come, each in a slot of its own (sheet §3.1). A message is settled when its job is over, or
 * recovery has it; until then it is in hand. What is left unsettled when the worker ends goes back to its queue.
 */
export class Slots {
  readonly #deps: SlotsDeps;
  /** Of this process: by the job's uuid. */
  readonly #runs = new Map<string, { readonly run: JobRun; readonly over: Promise<unknown> }>();
  readonly #handling = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #standIns = 0;

  constructor(deps: SlotsDeps) {
    this.#deps = deps;
  }

  /** How many jobs are worked on. */
  get running(): number {
    return this.#runs.size;
  }

  /** @throws what nobody expects: the message is rejected */
  handle(delivery: Delivery): Promise<void> {
    const handled = this.#handle(delivery).finally(() => this.#handling.delete(handled));
    this.#handling.add(handled);
    return handled;
  }

  /** Nothing may be done for now. */
  doubt(): void {
    for (const { run } of this.#runs.values()) run.doubt();
  }

  /** Stops all work where it is. Resolves when nothing is done any more. */
  async stop(): Promise<void> {
    this.#ending.abort(new Interrupted('stopping'));
    for (const { run } of this.#runs.values()) run.stop();
    await Promise.allSettled([...this.#handling]);
  }

  /** Resolves when every job that is worked on is over. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#handling]);
  }

  async #handle(delivery: Delivery): Promise<void> {
    const { organization, broker, log } = this.#deps;
    const read = readSubmission(delivery.body, organization.id);
    if ('problem' in read) {
      const body = delivery.body.subarray(0, LIMITS.shownBody).toString('utf8');
      log.error({ queue: delivery.queue, problem: read.problem, body }, 'JOBS_WORKER_INVALD_MSG_TYPE');
      await delivery.reject();
      return;
    }
    const { uuid } = read.message.job;
    // First of all, before any work: what is asked of the job from now on is heard (sheet §6.3).
    const topic = broker.subscribe(jobTopic(organization.name, uuid), (message) => this.#command(uuid, message));
    try {
      // A worker that ends begins nothing more: what it has not settled goes back.
      while (!this.#ending.signal.aborted && (await this.#step(delivery, read.message)) === AGAIN);
    } catch (error) {
      const expected = error instanceof Interrupted && this.#ending.signal.aborted;
      if (!expected) throw error;
    } finally {
      await topic
        .stop()
        .catch((err: unknown) => log.warn({ err, job: uuid }, 'the topic of a job could not be removed'));
    }
  }

  #command(uuid: string, message: Incoming | null): void {
    const { log } = this.#deps;
    if (message !== null) {
      const read = readJobCommand(message.body);
      if ('problem' in read) return log.warn({ job: uuid, problem: read.problem }, 'JOBS_CMD_MSG_ERROR');
      const { msgType, senderId, correlationId } = read.message;
      const status = this.#runs.get(uuid)?.run.job.status;
      log.info({ job: uuid, msgType, senderId, correlationId, status }, 'JOBS_CMD_MSG_RECEIVED');
      if (msgType === 'JOB_STATUS') return;
    }
    void this.#runs.get(uuid)?.run.hear();
  }

  async #step(delivery: Delivery, submission: Submission): Promise<Step> {
    const { uuid } = submission.job;
    const mine = this.#runs.get(uuid);
    if (mine !== undefined) {
      await this.#standIn(mine.over);
      return AGAIN;
    }
    const tenure = await this.#deps.tenure();
    const job = await this.#row(submission);
    if (job === null) return this.#drop(delivery, uuid);
    const decision = decide(job, tenure.worker);
    if (decision.kind === 'remove') {
      this.#deps.log.info({ job: uuid, status: job.status }, 'JOBS_INACTIVE_JOB_REMOVED');
      this.#deps.recovery.remind(job);
      await delivery.ack();
      return 'done';
    }
    if (decision.kind === 'ask') {
      const standing = await this.#stored(() => this.#deps.others.standing(decision.worker));
      if (!standing.ended) return this.#leave(delivery, standing);
    }
    // Another message of the job may have come meanwhile.
    if (this.#runs.has(uuid) || this.#ending.signal.aborted) return AGAIN;
    return this.#settle(delivery, await this.#work(job, tenure));
  }

  /** As it is stored; of its message when it is not there yet. null: it was refused. */
  async #row({ job, idempotencyKey, address }: Submission): Promise<Job | null> {
    const { jobs } = this.#deps;
    return this.#stored(async () => {
      const found = await jobs.find(job.uuid);
      if (found !== null) return found;
      await jobs.addUnlessRefused(job, idempotencyKey, address);
      return jobs.find(job.uuid);
    });
  }

  async #drop(delivery: Delivery, job: string): Promise<Step> {
    this.#deps.log.info({ job }, 'a job that was refused is not run: its message is removed');
    await delivery.ack();
    return 'done';
  }

  /**
   * To the worker that has the job once it is seen to live: what is handed over to one that is gone comes back late, and to anybody.
   * Until then this delivery waits, until that one has ended at most.
   */
  async #leave(delivery: Delivery, { lives, leftMs, process }: Standing & { readonly ended: false }): Promise<Step> {
    const { broker, clock } = this.#deps;
    if (lives && process !== broker.holder && (await delivery.handOver(process)) !== 'refused') return 'done';
    const unrenewedMs = LIMITS.leaseMs - leftMs;
    const ms = lives || unrenewedMs >= LIMITS.renewMs ? leftMs : LIMITS.renewMs - unrenewedMs;
    await this.#standIn(pause(clock, ms + LIMITS.standInGraceMs, this.#ending.signal));
    return AGAIN;
  }

  async #standIn(until: Promise<unknown>): Promise<void> {
    this.#standIns += 1;
    this.#deps.standIns(this.#standIns);
    try {
      await until;
    } finally {
      this.#standIns -= 1;
      this.#deps.standIns(this.#standIns);
    }
  }

  async #work(job: Job, tenure: Tenure): Promise<RunEnd> {
    const { uuid } = job;
    let settle: () => void = () => undefined;
    const over = new Promise<void>((resolve) => (settle = resolve));
    const run = new JobRun({ ...this.#deps, tenure }, job);
    // At once, so that a second message of the job waits here, and commands are heard.
    this.#runs.set(uuid, { run, over });
    try {
      return await run.run();
    } finally {
      this.#runs.delete(uuid);
      settle();
    }
  }

  async #settle(delivery: Delivery, end: RunEnd): Promise<Step> {
    switch (end) {
      case 'over':
        await delivery.ack();
        return 'done';
      case 'zombie':
        await delivery.reject();
        return 'done';
      case 'stopping':
        // It goes back when the worker has let go of its lease: whoever gets it need not wait.
        return 'done';
      case 'taken':
      case 'lease':
        return AGAIN;
    }
  }

  #stored<T>(work: () => Promise<T>): Promise<T> {
    return patiently(this.#deps.clock, this.#ending.signal, work);
  }
}
