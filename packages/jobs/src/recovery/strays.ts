import type { Clock, Timer } from '@muster/base';
import type { Broker } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import { LeaseWatch, type Store } from '@muster/store';
import { submissionOf } from '../messages.js';
import { jobOf } from '../repository/job-row.js';
import { ACTIVE_STATUSES, type Status } from '../status.js';
import '../repository/tables.js';
import { LIMITS } from '../worker/limits.js';
import { leaseName } from '../worker/tenure.js';

export interface StraysDeps {
  readonly org: Organization;
  readonly store: Store;
  readonly broker: Pick<Broker, 'depths' | 'publish'>;
  readonly clock: Clock;
  readonly log: LayerLog;
}

/** After a start of everything, workers need a moment to take what the broker delivers again. */
const GRACE_MS = 60_000;
const BATCH = 200;

const UNFINISHED: readonly Status[] = ['ACCEPTED', ...ACTIVE_STATUSES];

/**
 * Jobs that no worker has and whose message is lost, as when the data of a broker are gone: their messages are published again. Once
 * after each start of a reader. A queue that holds as many messages as jobs wait for a worker has lost none; a message too many does
 * no harm.
 */
export class Strays {
  readonly #deps: StraysDeps;
  readonly #leases: LeaseWatch;
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: StraysDeps) {
    this.#deps = deps;
    this.#leases = new LeaseWatch(deps);
  }

  start(): void {
    this.#after(GRACE_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#looking;
  }

  #after(ms: number): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(ms, () => {
      this.#looking = this.look().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'whether messages of jobs are lost could not be found out; trying again');
        this.#after(GRACE_MS);
      });
    });
  }

  async look(): Promise<void> {
    const { broker, log, org } = this.#deps;
    const waiting = await this.#waiting();
    // Soon enough to see that they renew their leases.
    if (waiting === null) return this.#after(LIMITS.renewMs * 1.5);
    const queues = [...waiting.keys()];
    const depths = await broker.depths(queues);
    for (const [index, queue] of queues.entries()) {
      const uuids = waiting.get(queue) ?? [];
      const depth = depths[index];
      if ((depth?.ready ?? 0) + (depth?.held ?? 0) >= uuids.length) continue;
      log.warn(
        { organization: org.name, queue, jobs: uuids.length },
        'messages of jobs are lost: they are published again',
      );
      for (let at = 0; at < uuids.length && !this.#stopped; at += BATCH) {
        await this.#publish(uuids.slice(at, at + BATCH));
      }
    }
  }

  /**
   * By queue: unfinished jobs that no live worker has, and that have not changed for a moment. null: of some of their workers it has
   * yet to be seen whether they live.
   */
  async #waiting(): Promise<ReadonlyMap<string, readonly string[]> | null> {
    const { store, clock, org } = this.#deps;
    const now = clock.now();
    const rows = await store.read
      .selectFrom('jobs')
      .leftJoin('job_blocked', 'job_blocked.uuid', 'jobs.uuid')
      .select(['jobs.uuid', 'jobs.queue', 'jobs.worker'])
      .where('jobs.org_id', '=', org.id)
      .where('jobs.status', 'in', UNFINISHED)
      .where('jobs.last_updated', '<=', now - GRACE_MS)
      // Those that go on have their message yet to come.
      .where('job_blocked.uuid', 'is', null)
      .execute();
    const workers = new Set(rows.flatMap(({ worker }) => (worker === null ? [] : [leaseName(worker)])));
    const held = await this.#leases.look([...workers], LIMITS.leaseMs);
    const alive = new Set<string>();
    for (const [name, { unchangedMs, renewed }] of held) {
      if (unchangedMs >= LIMITS.leaseMs) continue;
      if (!renewed) return null;
      alive.add(name);
    }
    const byQueue = new Map<string, string[]>();
    for (const { uuid, queue, worker } of rows) {
      if (worker !== null && alive.has(leaseName(worker))) continue;
      const uuids = byQueue.get(queue);
      if (uuids === undefined) byQueue.set(queue, [uuid]);
      else uuids.push(uuid);
    }
    return byQueue;
  }

  async #publish(uuids: readonly string[]): Promise<void> {
    const { store, broker } = this.#deps;
    const rows = await store.read.selectFrom('jobs').selectAll().where('uuid', 'in', uuids).execute();
    await Promise.all(
      rows.map((row) => {
        const { idempotency_key: key } = row;
        return broker.publish({ ...submissionOf(jobOf(row), key), id: `${row.uuid}.stray.${row.last_updated}` });
      }),
    );
  }
}
