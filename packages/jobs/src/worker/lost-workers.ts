import type { Clock, Timer } from '@muster/base';
import { organizationsById } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import { type LayerLog, LeaseKeeper, type Turn } from '@muster/platform/upkeep';
import { fence, type Held, type Lease, type Leases, LeaseWatch, type Store, update } from '@muster/store';
import { WORKER_EVENTS } from '../event-types.js';
import '../repository/tables.js';
import { LIMITS } from './limits.js';
import { leaseName } from './tenure.js';

export interface LostWorkersDeps {
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'commit'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
}

/** Between two looks. */
const LOOK_MS = LIMITS.leaseMs;
/** Workers that are looked after, of all organizations. */
const MOST = 1000;

const note = update('job_workers', { uuid: 'text', lost: 'integer' }, ['uuid']);

/**
 * Tells once of a worker of which nothing is heard any more, and once when it is heard again: whoever dies stores nothing. A lease is
 * judged by what was seen of it, not by the clock of its holder. One process does it for all organizations.
 */
export class LostWorkers {
  readonly #deps: LostWorkersDeps;
  readonly #keeper: LeaseKeeper;

  constructor(deps: LostWorkersDeps) {
    this.#deps = deps;
    this.#keeper = new LeaseKeeper({
      ...deps,
      name: 'job-reader/lost-workers',
      begin: async (lease) => this.#begin(lease),
    });
  }

  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }

  #begin(lease: Lease): Turn {
    const { store, clock, log } = this.#deps;
    const watch = new LeaseWatch({ store, clock });
    let timer: Timer | null = null;
    let looking: Promise<void> = Promise.resolve();
    let stopped = false;
    // A worker that ends gives its lease back before its end is stored.
    let without: ReadonlySet<string> = new Set();
    const look = async (): Promise<void> => {
      try {
        without = await this.#look(lease, watch, without);
      } catch (err) {
        if (!stopped) log.warn({ err }, 'it could not be seen which workers live; trying again');
      }
    };
    const next = (): void => {
      if (stopped) return;
      timer = clock.after(LOOK_MS, () => {
        looking = look().then(next);
      });
    };
    looking = look().then(next);
    return {
      stop: async () => {
        stopped = true;
        timer?.cancel();
        await looking;
      },
    };
  }

  /** @param before Those that had no lease at the last look. Returns those that have none now. */
  async #look(own: Lease, watch: LeaseWatch, before: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const { store, recorder } = this.#deps;
    const workers = await store.read
      .selectFrom('job_workers')
      .select(['uuid', 'org_id', 'name', 'queue', 'lost'])
      .where('state', '!=', 'stopped')
      .orderBy('started', 'desc')
      .limit(MOST)
      .execute();
    const leases = await watch.look(
      workers.map(({ uuid }) => leaseName(uuid)),
      2 * LOOK_MS,
    );
    const without = new Set(workers.flatMap(({ uuid }) => (leases.has(leaseName(uuid)) ? [] : [uuid])));
    const changed = workers.filter(({ uuid, lost }) => {
      const lease = leases.get(leaseName(uuid));
      return lost === 0
        ? isGone(lease) && (lease !== undefined || before.has(uuid))
        : lease?.renewed === true && !isGone(lease);
    });
    if (changed.length === 0) return without;
    const organizations = await organizationsById(store.read);
    for (const { uuid: worker, org_id: orgId, name, queue, lost } of changed) {
      const organization = organizations.get(orgId);
      const type = lost === 0 ? 'job_worker.lost' : 'job_worker.found';
      const told = organization && WORKER_EVENTS.tell(type, organization, { worker, name, queue }, {});
      await recorder.commit([fence(own), note({ uuid: worker, lost: 1 - lost })], told === undefined ? [] : [told]);
    }
    return without;
  }
}

/** Nobody has renewed it for as long as it lasts, or nobody has it. */
function isGone(lease: Held | undefined): boolean {
  return lease === undefined || lease.unchangedMs >= LIMITS.leaseMs;
}
