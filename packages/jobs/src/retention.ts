import type { Clock } from '@muster/base';
import { clearDeliveries } from '@muster/platform/outbound';
import { Upkeep } from '@muster/platform/upkeep';
import { deleteSome, type Schema, type Store } from '@muster/store';
import type { Transaction } from 'kysely';
import { deliverySubject } from './notifications/deliveries.js';
import './repository/tables.js';

export interface JobRetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Jobs that ended longer ago go, with all that hangs on them, unless another system ran them; 0: none. */
  readonly keepMs: number;
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

const PAUSE_MS = 60_000;
const DAY_MS = 86_400_000;
/** In one transaction, so that nobody is held up. */
const JOBS = 200;
const ROWS = 2000;
/** Messages that nobody took. */
const STRAY_MS = 90 * DAY_MS;
const STRAYS = 10_000;
/** A message of a job that was refused may come late, but not that late. */
const REFUSAL_MS = 30 * DAY_MS;

type Trx = Transaction<Schema>;

/** What hangs on a job by its uuid, with the columns of its key. */
const OF_JOBS = [
  { table: 'job_history', key: ['uuid', 'id'] },
  { table: 'job_notifications', key: ['id'] },
  { table: 'job_permissions', key: ['uuid', 'username'] },
] as const;

/** Deletes jobs that ended long ago, with what they were; and messages that nobody took, when nobody wanted them for long. */
export class JobRetention {
  readonly #deps: JobRetentionDeps;
  readonly #upkeep: Upkeep;

  constructor(deps: JobRetentionDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: PAUSE_MS, round: () => this.prune(), failed });
  }

  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /** One round. @throws MusterError `store_unavailable` */
  async prune(): Promise<void> {
    const { clock, keepMs, store } = this.#deps;
    const now = clock.now();
    if (keepMs > 0) await this.#pruneJobs(now - keepMs);
    await this.#pruneStrays(now - STRAY_MS);
    await store.transact((trx) =>
      trx
        .deleteFrom('job_refusals')
        .where('at', '<', now - REFUSAL_MS)
        .execute(),
    );
  }

  async #pruneJobs(before: number): Promise<void> {
    const { store } = this.#deps;
    while (!this.#upkeep.stopped) {
      // One whose program may still run is kept until that is known.
      const rows = await store.read
        .selectFrom('jobs')
        .leftJoin('job_blocked', 'job_blocked.uuid', 'jobs.uuid')
        .select('jobs.uuid')
        .where('jobs.ended', '<', before)
        // Those that another system ran are there because of their age: who takes them over wants them.
        .where('jobs.foreign_job', '=', 0)
        .where('job_blocked.uuid', 'is', null)
        .limit(JOBS)
        .execute();
      if (rows.length === 0) return;
      const uuids = rows.map(({ uuid }) => uuid);
      for (let cleared = false; !cleared; ) {
        if (this.#upkeep.stopped) return;
        cleared = await store.transact((trx) => clearJobs(trx, uuids));
      }
    }
  }

  /** Those that are too old, and the oldest of too many. */
  async #pruneStrays(before: number): Promise<void> {
    const { store } = this.#deps;
    const newest = await store.read
      .selectFrom('job_stray_messages')
      .select('at')
      .orderBy('at', 'desc')
      .offset(STRAYS)
      .limit(1)
      .executeTakeFirst();
    const end = Math.max(before, newest === undefined ? 0 : newest.at + 1);
    await store.transact((trx) => trx.deleteFrom('job_stray_messages').where('at', '<', end).execute());
  }
}

/** True when nothing is left of them. */
async function clearJobs(trx: Trx, uuids: readonly string[]): Promise<boolean> {
  for (const { table, key } of OF_JOBS) {
    const rows = { table, key, where: ['uuid', uuids], most: ROWS } as Parameters<typeof deleteSome>[1];
    if (!(await deleteSome(trx, rows))) return false;
  }
  if (!(await clearDeliveries(trx, uuids.map(deliverySubject), ROWS))) return false;
  await trx.deleteFrom('jobs').where('uuid', 'in', uuids).where('ended', 'is not', null).execute();
  return true;
}
