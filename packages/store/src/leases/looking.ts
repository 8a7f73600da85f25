import type { Kysely, Transaction } from 'kysely';
import type { Schema } from '../schema.js';

/** Of the leases of these names those that somebody holds at `now`, in Unix milliseconds. */
export async function heldAt(
  read: Kysely<Schema>,
  names: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const rows = await read
    .selectFrom('leases')
    .select('name')
    .where('name', 'in', names)
    .where('holder', 'is not', null)
    .where('expires_at', '>', now)
    .execute();
  return new Set(rows.map(({ name }) => name));
}

/** Deletes a lease that nobody will ask for again, if it ended before `before`, in Unix milliseconds. True: there is none now. */
export async function forgetLease(trx: Transaction<Schema>, name: string, before: number): Promise<boolean> {
  const lease = await trx.selectFrom('leases').select('expires_at').where('name', '=', name).executeTakeFirst();
  if (lease !== undefined && lease.expires_at >= before) return false;
  await trx.deleteFrom('leases').where('name', '=', name).execute();
  return true;
}
