import type { Kysely, Transaction } from 'kysely';
import type { Schema } from './schema.js';

/** One row for one prepared statement. Made by the functions that `upsert` and `insert` return. */
export interface Write {
  readonly statement: Statement;
  readonly row: Readonly<Record<string, SqlValue>>;
}

export type SqlValue = string | number | null | Uint8Array;

export type ColumnType = 'text' | 'integer' | 'bytes';

/** A hot statement: the same effect on both databases, many rows at once. */
export interface Statement {
  readonly name: string;
  readonly table: keyof Schema;
  readonly kind: 'insert' | 'upsert';
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Columns that identify a row. Of two writes of the same key in one commit the later wins. */
  readonly key: readonly string[];
}

export type StoreHealth =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string; readonly since: number };

/**
 * Canonical state. Writes of many mailboxes share one transaction (group commit): everything handed in while
 * the previous commit was being written goes into the next. A promise resolves when the writes are durable
 * (SQLite: WAL with synchronous=FULL; PostgreSQL: COMMIT returned with synchronous_commit on).
 */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** For reads only. */
  readonly read: Kysely<Schema>;
  /**
   * Stores `writes` in the next group commit or rejects with `store_unavailable`, in which case nothing of
   * them is stored. For requests that somebody waits for.
   */
  commit(writes: readonly Write[]): Promise<void>;
  /**
   * Stores transitions that already happened in memory: retried with backoff, in order, until they are
   * durable. Rejects only when the store is closed first.
   */
  persist(writes: readonly Write[]): Promise<void>;
  /**
   * A transaction of its own, in the same lane as the group commits. For administration, not for hot paths.
   * The callback may run again after a serialization failure; it must only touch `trx`.
   */
  transact<T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T>;
  health(): StoreHealth;
  /** Waits for what was handed in, then closes. */
  close(): Promise<void>;
}
