import type { Clock } from '@muster/base';
import type { Transaction } from 'kysely';
import type { Schema } from '../schema.js';
import type { Store } from '../types.js';
import { type Sighting, Sightings } from './sightings.js';

/** A lease that somebody holds, as it was seen. */
export interface Held extends Sighting {
  /** By the clock of its holder. */
  readonly expiresAt: number;
}

/** Leases as one sees them who wants none. */
export class LeaseWatch {
  readonly #store: Pick<Store, 'read'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #sightings = new Sightings();

  constructor({ store, clock }: { readonly store: Pick<Store, 'read'>; readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Of the leases of these names those that somebody holds, for `ttlMs` at a time. */
  async look(names: readonly string[], ttlMs: number): Promise<ReadonlyMap<string, Held>> {
    if (names.length === 0) return new Map();
    const rows = await this.#store.read
      .selectFrom('leases')
      .selectAll()
      .where('name', 'in', names)
      .where('holder', 'is not', null)
      .execute();
    const now = this.#clock.monotonic();
    const held = rows.map((row): [string, Held] => {
      const seen = this.#sightings.see(row, ttlMs, now);
      return [row.name, { ...seen, expiresAt: row.expires_at }];
    });
    return new Map(held);
  }
}

/** Who acquired it last and has not given it back, though it may have ended since; undefined: nobody. */
export async function lastHolder(
  { read }: Pick<Store, 'read'>,
  name: string,
): Promise<{ readonly holder: string; readonly epoch: number; readonly expiresAt: number } | undefined> {
  const row = await read
    .selectFrom('leases')
    .select(['holder', 'epoch', 'expires_at'])
    .where('name', '=', name)
    .executeTakeFirst();
  if (row === undefined || row.holder === null) return undefined;
  return { holder: row.holder, epoch: row.epoch, expiresAt: row.expires_at };
}

/** Deletes a lease that nobody will ask for again, if it ended before `before`, in Unix milliseconds. True: there is none now. */
export async function forgetLease(trx: Transaction<Schema>, name: string, before: number): Promise<boolean> {
  const lease = await trx.selectFrom('leases').select('expires_at').where('name', '=', name).executeTakeFirst();
  if (lease !== undefined && lease.expires_at >= before) return false;
  await trx.deleteFrom('leases').where('name', '=', name).execute();
  return true;
}
