import type { Clock } from '@muster/base';
import { type Store, upsert } from '@muster/store';
import { Upkeep } from '../upkeep/upkeep.js';
import { EVENT_LIMITS } from './limits.js';
import { Nonces } from './nonces.js';

const saveNonce = upsert('event_nonces', { principal_id: 'text', nonce: 'text', ends: 'integer' }, [
  'principal_id',
  'nonce',
]);

/**
 * Nonces of signed logins, in the database too: what was used before a restart is not good after it. The time of a
 * signature would not tell, as the clock of who signed may be ahead of ours, or behind.
 */
export class StoredNonces {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #nonces = new Nonces({ perPrincipal: EVENT_LIMITS.noncesPerPrincipal, all: EVENT_LIMITS.nonces });
  readonly #upkeep: Upkeep;

  /** @param failed What is too old could not be deleted; it is tried again. */
  constructor(store: Store, clock: Clock, failed: (error: unknown) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#upkeep = new Upkeep({ clock, pauseMs: EVENT_LIMITS.pruneNoncesMs, round: () => this.prune(), failed });
  }

  /** Reads what was used before this server started. Before anybody logs in. */
  async load(): Promise<void> {
    const rows = await this.#store.read
      .selectFrom('event_nonces')
      .selectAll()
      .where('ends', '>', this.#clock.now())
      .execute();
    for (const { principal_id: principalId, nonce, ends } of rows) this.#nonces.remember(principalId, nonce, ends);
  }

  /** Deletes what is too old, from now on. */
  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /**
   * Resolves with true when it is stored that it is used, false when it was used before.
   * Rejects with `store_unavailable`, or `too_busy` when there are too many to remember.
   */
  async use(principalId: string, nonce: string, ends: number): Promise<boolean> {
    // Before anything is waited for: two may come at the same time.
    if (!this.#nonces.use(principalId, nonce, ends, this.#clock.now())) return false;
    await this.#store.commit([saveNonce({ principal_id: principalId, nonce, ends })]);
    return true;
  }

  /** What has ended is of no use any more; some at a time. @throws MusterError `store_unavailable` */
  async prune(): Promise<void> {
    const ended = this.#clock.now();
    for (let rows: number = EVENT_LIMITS.rows; rows >= EVENT_LIMITS.rows && !this.#upkeep.stopped; ) {
      const deleted = await this.#store.transact((trx) =>
        trx
          .deleteFrom('event_nonces')
          .where('nonce', 'in', (from) =>
            from.selectFrom('event_nonces').select('nonce').where('ends', '<=', ended).limit(EVENT_LIMITS.rows),
          )
          .where('ends', '<=', ended)
          .executeTakeFirst(),
      );
      rows = Number(deleted.numDeletedRows);
    }
  }
}
