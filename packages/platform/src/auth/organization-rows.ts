import type { Clock } from '@muster/base';
import type { Store } from '@muster/store';
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
  readonly rows: readonly OrganizationRows[];
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Clears what was kept of organizations that are gone. There may be very much of it, so it goes little by little, each
 * step a transaction that holds nobody up; after a restart it goes on where it was. Whoever finds rows by the id of an
 * organization without having found the organization itself has to expect rows of one that is gone.
 */
export class OrganizationRemnants {
  readonly #deps: RemnantsDeps;
  readonly #upkeep: Upkeep;

  constructor(deps: RemnantsDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
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

  /** One round. @throws MusterError `store_unavailable` */
  async clear(): Promise<void> {
    const { store, rows } = this.#deps;
    for (const { id } of await store.read.selectFrom('deleted_organizations').select('id').execute()) {
      for (const { clear } of rows) {
        for (let cleared = false; !cleared; ) {
          if (this.#upkeep.stopped) return;
          cleared = await store.transact((trx) => clear(trx, id, AUTH_LIMITS.remnantRows));
        }
      }
      await store.transact(async (trx) => {
        await trx.deleteFrom('deleted_organizations').where('id', '=', id).execute();
      });
    }
  }
}
