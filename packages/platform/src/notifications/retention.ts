import type { Clock } from '@muster/base';
import type { Store } from '@muster/store';
import '../schema/tables.js';
import { Upkeep } from '../upkeep/upkeep.js';
import { NOTIFICATION_LIMITS } from './limits.js';

/** In one transaction, so that nobody is held up. */
const ROWS = 1000;
const PAUSE_MS = 600_000;

export interface DeliveryRetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/** Forgets what notifications sent long ago. What was sent of jobs goes with them. */
export class DeliveryRetention {
  readonly #deps: DeliveryRetentionDeps;
  readonly #upkeep: Upkeep;

  constructor(deps: DeliveryRetentionDeps) {
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
    const { clock, store } = this.#deps;
    const before = clock.now() - NOTIFICATION_LIMITS.keepMs;
    while (!this.#upkeep.stopped) {
      const rows = await store.read
        .selectFrom('deliveries')
        .select('id')
        .where('subject', '>=', 'notification/')
        .where('subject', '<', 'notification0')
        .where('outcome', '!=', 'waiting')
        .where('created', '<', before)
        .limit(ROWS)
        .execute();
      if (rows.length === 0) return;
      const ids = rows.map(({ id }) => id);
      await store.transact((trx) => trx.deleteFrom('deliveries').where('id', 'in', ids).execute());
    }
  }
}
