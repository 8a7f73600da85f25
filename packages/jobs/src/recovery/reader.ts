import type { Clock } from '@muster/base';
import type { Broker } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import { type LayerLog, LeaseKeeper } from '@muster/platform/upkeep';
import { fence, type Lease, type Leases, type Store } from '@muster/store';
import type { JobStore } from '../repository/job-store.js';
import type { Systems } from '../systems/types.js';
import { RecoveryActs } from './acts.js';
import { Releases } from './releases.js';
import { RecoveryRows } from './repository.js';
import { Strays } from './strays.js';
import { ask } from './testers/index.js';
import { RecoveryTurn } from './turn.js';

export interface RecoveryReaderDeps {
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'commit' | 'transact'>;
  readonly jobs: JobStore;
  readonly broker: Broker;
  readonly systems: Pick<Systems, 'open'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  /** Whether servers at private addresses may be asked. */
  readonly privateTargets: boolean;
}

/** The recovery readers of one process: one for each organization, each of which acts in one process at a time. */
export class RecoveryReaders {
  readonly #deps: RecoveryReaderDeps;
  readonly #keepers = new Map<string, LeaseKeeper>();

  constructor(deps: RecoveryReaderDeps) {
    this.#deps = deps;
  }

  /** Those for which this process acts now. */
  get acting(): readonly string[] {
    return [...this.#keepers].flatMap(([orgId, keeper]) => (keeper.holds ? [orgId] : []));
  }

  /** Once for an organization; again does nothing. */
  add(org: Organization): void {
    if (this.#keepers.has(org.id)) return;
    const { leases, clock, log } = this.#deps;
    const keeper = new LeaseKeeper({
      leases,
      clock,
      log,
      name: `job-recovery/${org.id}`,
      begin: (lease) => this.#begin(org, lease),
    });
    this.#keepers.set(org.id, keeper);
    keeper.start();
  }

  /** The organization is gone, or its reader was told to end. */
  async remove(orgId: string): Promise<void> {
    const keeper = this.#keepers.get(orgId);
    this.#keepers.delete(orgId);
    await keeper?.stop();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#keepers.keys()].map((orgId) => this.remove(orgId)));
  }

  async #begin(org: Organization, lease: Lease): Promise<{ stop(): Promise<void> }> {
    const { store, recorder, jobs, broker, systems, clock, log, privateTargets } = this.#deps;
    const rows = new RecoveryRows(store, org.id);
    const releases = new Releases({ rows, broker, clock, log });
    const strays = new Strays({ org, store, broker, clock, log });
    const joined = (id: string): void => turn.joined(id);
    const acts = new RecoveryActs({ jobs, rows, store, systems, clock, log, fence: fence(lease), joined });
    const turn: RecoveryTurn = new RecoveryTurn({
      org,
      store,
      recorder,
      broker,
      clock,
      log,
      rows,
      acts,
      releases,
      ask: (type, tested) => ask(type, tested, { read: store.read, systems, clock, privateTargets }),
      shutdown: () => void this.remove(org.id),
    });
    try {
      await turn.start();
    } catch (error) {
      await turn.stop();
      throw error;
    }
    strays.start();
    return { stop: async () => void (await Promise.all([turn.stop(), strays.stop()])) };
  }
}
