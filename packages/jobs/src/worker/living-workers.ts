import type { Clock } from '@muster/base';
import { type Held, LeaseWatch, type Store } from '@muster/store';
import { ACTIVE_STATUSES } from '../status.js';
import { LIMITS } from './limits.js';
import { leaseName } from './tenure.js';
import type { WorkerState } from './worker-rows.js';

/** A worker as it is shown. */
export interface SeenWorker {
  /** New at every start. */
  readonly id: string;
  readonly name: string;
  readonly host: string;
  /** Whole. */
  readonly queue: string;
  readonly slots: number;
  /** `lost`: it says nothing any more. */
  readonly state: WorkerState | 'lost';
  /** That it works on. */
  readonly jobs: number;
  /** ISO 8601. */
  readonly started: string;
  readonly version: string;
}

const MOST_SHOWN = 1000;

/** Who works on the jobs of organizations, in whatever process: as workers say themselves, and by their leases whether they still live. */
export class LivingWorkers {
  readonly #store: Pick<Store, 'read'>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #leases: LeaseWatch;

  constructor({ store, clock }: { readonly store: Pick<Store, 'read'>; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#leases = new LeaseWatch({ store, clock });
  }

  /** The newest first, and no more than 1,000. @param ended Also those that have stopped or are lost. */
  async list(orgId: string, { ended }: { readonly ended: boolean }): Promise<readonly SeenWorker[]> {
    const { read } = this.#store;
    const rows = await read
      .selectFrom('job_workers')
      .selectAll()
      .where('org_id', '=', orgId)
      // Of those that are lost most are marked, so that many of them do not stand before the living.
      .$if(!ended, (some) => some.where('state', '!=', 'stopped').where('lost', '=', 0))
      .orderBy('started', 'desc')
      .orderBy('name')
      .limit(MOST_SHOWN)
      .execute();
    if (rows.length === 0) return [];
    const ids = rows.map(({ uuid }) => uuid);
    const alive = await this.#alive(ids);
    const counts = await read
      .selectFrom('jobs')
      .select(['worker', (row) => row.fn.countAll<number>().as('count')])
      .where('worker', 'in', ids)
      .where('status', 'in', ACTIVE_STATUSES)
      .groupBy('worker')
      .execute();
    const jobs = new Map(counts.map(({ worker, count }) => [worker, Number(count)]));
    const seen = rows.map(
      ({ uuid, name, host, queue, slots, state, started, version }): SeenWorker => ({
        ...{ id: uuid, name, host, queue, slots, version },
        state: state === 'stopped' || alive.has(uuid) ? state : 'lost',
        jobs: jobs.get(uuid) ?? 0,
        started: new Date(started).toISOString(),
      }),
    );
    return ended ? seen : seen.filter(({ state }) => state !== 'lost');
  }

  async #alive(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const held = await this.#leases.look(ids.map(leaseName), LIMITS.leaseMs);
    return new Set(ids.filter((id) => isAlive(held.get(leaseName(id)), this.#clock.now())));
  }
}

/** By what was seen of its lease; until enough was seen, by the clocks. */
function isAlive(lease: Held | undefined, now: number): boolean {
  if (lease === undefined || lease.unchangedMs >= LIMITS.leaseMs) return false;
  return lease.renewed || lease.expiresAt > now;
}
