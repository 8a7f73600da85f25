import type { Clock, Timer } from '@muster/base';
import type { Broker } from '@muster/broker';
import type { LayerLog } from '@muster/platform/upkeep';
import { submissionOf } from '../messages.js';
import { isActive } from '../status.js';
import type { Job } from '../types.js';
import type { BlockedRow, RecoveryRows } from './repository.js';

export interface ReleasesDeps {
  readonly rows: RecoveryRows;
  readonly broker: Pick<Broker, 'publish'>;
  readonly clock: Clock;
  readonly log: LayerLog;
}

/** Published at the same time. */
const BATCH = 200;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Publishes the messages of jobs that go on. Their status is stored before: a broker that is away delays them, and fails none. A
 * message that was published, and whose row a crash left, is published again: the worker that has the job keeps it.
 */
export class Releases {
  readonly #deps: ReleasesDeps;
  #again = false;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #stopped = false;

  constructor(deps: ReleasesDeps) {
    this.#deps = deps;
  }

  /** There may be something to publish. */
  hurry(): void {
    this.#again = true;
    if (this.#stopped || this.#running !== null) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      if (this.#again && this.#timer === null) this.hurry();
    });
  }

  /** Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  async #run(): Promise<void> {
    this.#again = false;
    const { rows, clock, log } = this.#deps;
    try {
      for (;;) {
        const batch = await rows.releasing(BATCH);
        if (batch.length === 0 || this.#stopped) break;
        await this.#publish(batch);
      }
      this.#pauseMs = FIRST_PAUSE_MS;
    } catch (error) {
      if (this.#stopped) return;
      log.warn({ err: error, pauseMs: this.#pauseMs }, 'JOBS_RECOVERY_RESUBMIT_JOB_ERROR jobs go on later');
      this.#timer = clock.after(this.#pauseMs, () => this.hurry());
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    }
  }

  /** @throws what the broker throws, when those that were published are stored */
  async #publish(batch: readonly BlockedRow[]): Promise<void> {
    const { rows } = this.#deps;
    const jobs = await rows.jobs(batch.map(({ uuid }) => uuid));
    const done: string[] = [];
    let failure: unknown = null;
    await Promise.all(
      batch.map(async (row) => {
        const job = jobs.get(row.uuid);
        try {
          if (job !== undefined && isActive(job.status)) await this.#deps.broker.publish(resubmissionOf(job, row));
          done.push(row.uuid);
        } catch (error) {
          failure ??= error;
        }
      }),
    );
    await rows.drop(done, 'releasing');
    if (failure !== null) throw failure;
  }
}

/** To the queue that it came from. A repeat of this release is the same message, another release is another. */
function resubmissionOf(job: Job, { created }: Pick<BlockedRow, 'created'>) {
  return { ...submissionOf(job, null), id: `${job.uuid}.${job.blockedCount}.${created}` };
}
