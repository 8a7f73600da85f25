import type { Clock } from '@muster/base';
import { type Lease, Leases, type Store } from '@muster/store';
import { Upkeep } from '../upkeep/upkeep.js';
import type { Trx } from './changes.js';
import { AUTH_LIMITS } from './limits.js';

/** What is kept of organizations, by a layer or as their identities, and how it goes with one that is deleted. */
export interface OrganizationRows {
  /** Why the organization cannot be deleted now; null: nothing of this layer stands against it. */
  readonly inUse?: (trx: Trx, orgId: string) => Promise<string | null>;
  /** Deletes rows of an organization that is gone, at most so many of each table. True when none is left. */
  readonly clear: (trx: Trx, orgId: string, most: number) => Promise<boolean>;
}

export interface RemnantsDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Of this process; new at every start. */
  readonly incarnation: string;
  readonly rows: readonly OrganizationRows[];
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/** The lease of whoever clears. */
export const CLEARING = 'organization remnants';

/**
 * Clears what was kept of organizations that are gone. There may be very much of it, so it goes little by little, each
 * step a transaction that holds nobody up; after a restart it goes on where it was. Of several servers on one database one
 * clears, under a lease; a server that ended in the midst of it holds the lease for a while longer. Whoever finds rows by the id of an
 * organization without having found the organization itself has to expect rows of one that is gone.
 */
export class OrganizationRemnants {
  readonly #deps: RemnantsDeps;
  readonly #leases: Leases;
  readonly #upkeep: Upkeep;

  constructor(deps: RemnantsDeps) {
    this.#deps = deps;
    const { store, clock, incarnation, failed } = deps;
    this.#leases = new Leases({ store, clock, holder: incarnation });
    this.#upkeep = new Upkeep({ clock, pauseMs: AUTH_LIMITS.remnantsEveryMs, round: () => this.clear(), failed });
  }

  start(): void {
    this.#upkeep.start();
    this.#upkeep.hurry();
  }

  /** An organization was just deleted. */
  hurry(): void {
    this.#upkeep.hurry();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /** One round; nothing when another server clears. @throws MusterError `store_unavailable` */
  async clear(): Promise<void> {
    const { store } = this.#deps;
    const gone = await store.read.selectFrom('deleted_organizations').select('id').execute();
    if (gone.length === 0) return;
    const acquired = await this.#leases.acquire(CLEARING, AUTH_LIMITS.clearingLeaseMs);
    if (acquired.kind === 'held') return;
    let lease: Lease | null = acquired.lease;
    try {
      for (const { id } of gone) {
        for await (const _step of this.#steps(id)) {
          lease = await this.#kept(lease);
          if (lease === null || this.#upkeep.stopped) return;
        }
      }
    } finally {
      if (lease !== null) await this.#leases.release(lease);
    }
  }

  /** Each has cleared something. */
  async *#steps(id: string): AsyncGenerator<void> {
    const { store, rows } = this.#deps;
    for (const { clear } of rows) {
      for (let cleared = false; !cleared; ) {
        cleared = await store.transact((trx) => clear(trx, id, AUTH_LIMITS.remnantRows));
        yield;
      }
    }
    await store.transact(async (trx) => {
      await trx.deleteFrom('deleted_organizations').where('id', '=', id).execute();
    });
  }

  /** The lease, renewed when half of it is over; null: another server has it now. */
  async #kept(lease: Lease): Promise<Lease | null> {
    const rest = lease.actUntil - this.#deps.clock.monotonic();
    return rest > AUTH_LIMITS.clearingLeaseMs / 2 ? lease : this.#leases.renew(lease, AUTH_LIMITS.clearingLeaseMs);
  }
}
