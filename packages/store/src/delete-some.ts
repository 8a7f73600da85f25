import { sql, type Transaction } from 'kysely';
import type { Schema } from './schema.js';

type Column<T extends keyof Schema> = keyof Schema[T] & string;

interface RowsOf<T extends keyof Schema> {
  readonly table: T;
  /** The columns of its primary key. */
  readonly key: readonly Column<T>[];
  /** Rows whose column has one of these values. */
  readonly where: readonly [Column<T>, readonly string[]];
  readonly most: number;
}

export type SomeRows = { [T in keyof Schema]: RowsOf<T> }[keyof Schema];

/** Deletes rows, but no more than so many, so that a transaction holds nobody up for long. True when none is left. */
export async function deleteSome(trx: Transaction<Schema>, rows: SomeRows): Promise<boolean> {
  const { table, key, where, most } = rows;
  const [column, values] = where;
  if (values.length === 0) return true;
  const columns = sql.join(key.map((name) => sql.ref(name)));
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in (
    select ${columns} from ${sql.table(table)} where ${sql.ref(column)} in (${sql.join(values)}) limit ${sql.lit(most)}
  )`.execute(trx);
  return Number(numAffectedRows ?? 0) < most;
}
