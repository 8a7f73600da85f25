import { sql, type Transaction } from 'kysely';
import type { Schema } from './schema.js';

export interface SomeRows<T extends keyof Schema> {
  readonly table: T;
  /** The columns of its primary key. */
  readonly key: readonly (keyof Schema[T] & string)[];
  /** Rows whose column has this value. */
  readonly where: readonly [keyof Schema[T] & string, string];
  readonly most: number;
}

/** Deletes rows, but no more than so many, so that a transaction holds nobody up for long. True when none is left. */
export async function deleteSome<T extends keyof Schema>(
  trx: Transaction<Schema>,
  rows: SomeRows<T>,
): Promise<boolean> {
  const { table, key, where, most } = rows;
  const [column, value] = where;
  const columns = sql.join(key.map((name) => sql.ref(name)));
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in (
    select ${columns} from ${sql.table(table)} where ${sql.ref(column)} = ${value} limit ${sql.lit(most)}
  )`.execute(trx);
  return Number(numAffectedRows ?? 0) < most;
}
