import type { Clock } from '@muster/base';
import type { Kysely, Transaction } from 'kysely';
import type { Hints } from './hints/index.js';
import type { Limits } from './limits.js';
import type { Schema } from './schema.js';

/**
 * One row for one prepared statement, or a condition on one. Made by the functions that `upsert`, `update`, `insert`, `append`,
 * `guard` and `absent` return.
 */
export interface Write {
  readonly statement: Statement;
  readonly row: Readonly<Record<string, SqlValue>>;
  /** Of a statement that gives numbers: told the first number of this part once it is durable, in the order of the numbers. */
  readonly numbered?: ((first: number) => void) | undefined;
}

export type SqlValue = string | number | null | Uint8Array;

export type ColumnType = 'text' | 'integer' | 'bytes';

/** A hot statement: the same effect on both databases, many rows at once. */
export interface Statement {
  readonly name: string;
  readonly table: keyof Schema;
  /** `guard` and `absent` change nothing: they hold when there is a row with all these values, or none with this key. */
  readonly kind: 'insert' | 'upsert' | 'update' | 'guard' | 'absent';
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Columns that identify a row. Of two writes of the same key in one commit the later wins. */
  readonly key: readonly string[];
  /**
   * It is the first of what its transaction writes to the row, if it writes more: so it comes before the other statements, in
   * whose rows the last one counts.
   */
  readonly first?: boolean;
  /**
   * Makes rows of all that one transaction hands in through this statement, which is no row yet. For inserts; there is
   * one such statement in a transaction.
   */
  readonly merge?: Merge;
}

/**
 * How the parts that one transaction hands in become rows. Each part takes numbers, which the transaction gets when it
 * is stored: in each table they follow each other from 1 on, in the order of the parts and of the commits, without gaps,
 * also when several processes use the database.
 */
export interface Merge {
  rows(parts: readonly Write['row'][]): readonly Write['row'][];
  /** What a part weighs. */
  bytes(part: Write['row']): number;
  /** How many numbers a part takes. */
  numbers(part: Write['row']): number;
  /** Columns that `rows` counts from 0: the first number of the transaction is added to them. */
  readonly numbered: readonly string[];
}

/** Why the database is not to be relied on. */
export interface Trouble {
  /** `unavailable`: it takes no writes, or does not answer; that passes. `damaged`: what is stored cannot be read any more. */
  readonly problem: 'unavailable' | 'damaged';
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Takes writes for the end of a transaction. */
export type HandIn = (writes: readonly Write[]) => void;

export type StoreHealth = { readonly ok: true } | ({ readonly ok: false } & Trouble);

/**
 * Canonical state. Writes of many mailboxes share one transaction (group commit): everything handed in while
 * the previous commit was being written goes into the next. A promise resolves when the writes are durable
 * (SQLite: in the WAL, and the WAL flushed; PostgreSQL: COMMIT returned with synchronous_commit on).
 */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** For reads only. */
  readonly read: Kysely<Schema>;
  /**
   * Stores `writes` in the next group commit or rejects with `store_unavailable`, in which case nothing of
   * them is stored. For requests that somebody waits for.
   *
   * With guards among them they are stored only if all guards hold, as if the parts of all callers were stored one after
   * the other in the order of the calls; otherwise it rejects with `GuardFailed`, and others are not concerned.
   * @param stored Called as soon as they are durable, before the promise resolves. What it hands in is in the next group
   * commit, which is under way while those who waited for this one are told.
   */
  commit(writes: readonly Write[], stored?: () => void): Promise<void>;
  /**
   * Stores transitions that already happened in memory: retried with backoff, in order, until they are
   * durable. Rejects only when the store is closed first, with `GuardFailed` as `commit` does, or with the database's error when a write can never
   * be stored (a fault in the code: it is logged, and `StoreOptions.refused` is told so that the process ends).
   */
  persist(writes: readonly Write[]): Promise<void>;
  /**
   * A transaction of its own, in the same lane as the group commits. For administration, not for hot paths.
   * The callback may run again after a serialization failure; it must only touch `trx`. What it hands to `write` is
   * stored at the end of the transaction. Rejects with what the callback threw, or with `store_unavailable`; nothing is
   * stored then.
   */
  transact<T>(work: (trx: Transaction<Schema>, write: HandIn) => Promise<T>): Promise<T>;
  health(): StoreHealth;
  /** To and from the other processes that use this database. */
  readonly hints: Hints;
  /** Waits for what was handed in, then closes. */
  close(): Promise<void>;
}

/** Who may write: see `Store` options. */
export interface ClusterAccess {
  /**
   * The row of `leases` that says who acts for the cluster. Every transaction is stored only while it stands so. It is to change with
   * whoever acts and at no other time, or transactions would conflict with its changes. null: this process acts for nobody.
   */
  readonly fence: { readonly name: string; readonly holder: string; readonly epoch: number } | null;
  /** It does not stand so any more: nothing is stored from now on, and the process should end. */
  lost(): void;
}

export type StoreLocation =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** Where the store says that it is in trouble; pino and console fit. */
export interface StoreLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** One group commit that was stored. */
export interface CommitReport {
  /** Callers that shared it. */
  readonly parts: number;
  /** Rows after coalescing. */
  readonly rows: number;
  readonly durationMs: number;
}

export interface StoreOptions {
  readonly clock: Clock;
  /** Source of the random name of this process's write lane. */
  readonly random?: (bytes: number) => Uint8Array;
  /**
   * PostgreSQL: refuse to share the database with another server (`database_in_use`). True unless given; a
   * SQLite database is kept to one process by `lockDirectory`, so that its leases are given back when it is opened.
   */
  readonly exclusive?: boolean;
  /** PostgreSQL: shared with the other servers of a cluster, and with nobody else; `exclusive` is of no account then. */
  readonly cluster?: ClusterAccess;
  /**
   * Something beside the database says that it has been in use: a SQLite file without any table is a database that was
   * lost, and is refused (`database_lost`).
   */
  readonly established?: boolean;
  readonly log?: StoreLog;
  /** Called after each group commit; for metrics. */
  readonly observe?: (report: CommitReport) => void;
  /**
   * Called when the database refuses a transition for good, or the disk fails to flush. Memory and database differ from then on, so whatever the
   * process goes on to say may be untrue: it should end, and start again from what is stored.
   */
  readonly refused?: (error: unknown) => void;
  readonly limits?: Partial<Limits>;
}
