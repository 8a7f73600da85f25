import type { Clock } from '@muster/base';
import { subjectOf } from '@muster/platform/feeds';
import { clearOutput } from '@muster/platform/output';
import { Upkeep } from '@muster/platform/upkeep';
import type { Schema, Store } from '@muster/store';
import type { Transaction } from 'kysely';
import { PUSH_FEED } from '../events.js';
import { RETENTION } from '../limits.js';
import { deletePushJobs } from './organization.js';
import { deletedJobs, jobsEndedBefore } from './reads.js';

export interface JobRetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Jobs that ended longer ago go; 0: none. */
  readonly keepMs: number;
  /** Its feed is still shown. */
  readonly isLive: (jobId: string) => boolean;
  /** So many jobs are gone. */
  readonly deleted: (jobs: number) => void;
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Deletes jobs that ended long ago. A job goes at once and whole for everybody who looks; the rows of its nodes and its
 * output, of which there may be very many, follow in transactions that hold nobody up, also after a restart.
 */
export class JobRetention {
  readonly #deps: JobRetentionDeps;
  readonly #upkeep: Upkeep;

  constructor(deps: JobRetentionDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: RETENTION.pauseMs, round: () => this.prune(), failed });
  }

  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /** One round. @throws MusterError `store_unavailable` */
  async prune(): Promise<void> {
    const { clock, keepMs } = this.#deps;
    await this.#clear();
    if (keepMs === 0) return;
    const before = clock.now() - keepMs;
    while (!this.#upkeep.stopped && (await this.#deleteJobs(before)) > 0) await this.#clear();
  }

  /** The jobs themselves, oldest first; how many there were. */
  async #deleteJobs(before: number): Promise<number> {
    const { store, isLive, deleted } = this.#deps;
    const old = await jobsEndedBefore(store.read, before, RETENTION.jobs);
    const ids = old.filter((id) => !isLive(id));
    if (ids.length === 0) return 0;
    // Some may have gone with their organization.
    const count = await store.transact((trx) => deletePushJobs(trx, ids));
    deleted(count);
    return count;
  }

  /** What is left of jobs that are gone. */
  async #clear(): Promise<void> {
    const { store } = this.#deps;
    for (;;) {
      const ids = await deletedJobs(store.read, RETENTION.jobs);
      if (ids.length === 0) return;
      for (const id of ids) {
        for (let cleared = false; !cleared; ) {
          if (this.#upkeep.stopped) return;
          cleared = await store.transact((trx) => clearSome(trx, id));
        }
      }
    }
  }
}

type Trx = Transaction<Schema>;

/** True when nothing is left of the job. */
async function clearSome(trx: Trx, jobId: string): Promise<boolean> {
  if (!(await clearOutput(trx, subjectOf(PUSH_FEED, jobId)))) return false;
  if (!(await clearNodes(trx, jobId))) return false;
  await trx.deleteFrom('deleted_push_jobs').where('job_id', '=', jobId).execute();
  return true;
}

/** Up to the first row that stays, which both databases find and reach by the primary key. True when none stays. */
async function clearNodes(trx: Trx, jobId: string): Promise<boolean> {
  const first = await trx
    .selectFrom('push_job_nodes')
    .select('node')
    .where('job_id', '=', jobId)
    .orderBy('node')
    .offset(RETENTION.nodes)
    .limit(1)
    .executeTakeFirst();
  const all = trx.deleteFrom('push_job_nodes').where('job_id', '=', jobId);
  await (first === undefined ? all : all.where('node', '<', first.node)).execute();
  return first === undefined;
}
