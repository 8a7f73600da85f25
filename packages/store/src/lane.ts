import type { Transaction } from 'kysely';
import type { Schema } from './schema.js';
import type { SqlValue, Statement, Write } from './types.js';

export type Row = Readonly<Record<string, SqlValue>>;

/**
 * One transaction's statements: the guards first, then those that say so, then the others in the order in which they first appeared; one that gives numbers
 * comes last, because whoever advances the counter keeps others waiting until the commit.
 */
export type Batch = readonly BatchStatement[];

export interface BatchStatement {
  readonly statement: Statement;
  readonly rows: readonly Row[];
  /** How many numbers its rows take, if it gives numbers. */
  readonly numbers?: number | undefined;
}

/** How an attempt to store a transaction ended. */
export type Outcome =
  /** Durable. `first`: the first of the numbers that it was given; 0 if it takes none. */
  | { readonly kind: 'stored'; readonly first: number }
  /** The database is well, the transaction is not: trying it again is pointless. Nothing is stored. */
  | { readonly kind: 'refused'; readonly error: unknown }
  /** Guards of the batch do not hold: these. Nothing is stored. */
  | { readonly kind: 'guarded'; readonly failed: readonly Write[] }
  /** Disk full, locked, connection lost: later it may work. Nothing is stored. */
  | { readonly kind: 'failed'; readonly error: unknown }
  /**
   * The connection was lost while COMMIT was under way: ask `outcome` before doing anything else. `forGood`: there will
   * never be another answer, only the next process can see.
   */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly forGood?: true };

/**
 * The one way in which a process writes to its database: one transaction at a time. Nothing here throws.
 * Every transaction has a number, larger than those before it.
 */
export interface Lane {
  write(id: number, batch: Batch): Promise<Outcome>;
  /** `work` answers what is written at its end. `refused` carries what it threw. */
  transact(id: number, work: (trx: Transaction<Schema>) => Promise<Batch>): Promise<Outcome>;
  /** After `unknown`: what became of transaction `id`. `unknown` again while the database cannot be asked. */
  outcome(id: number): Promise<Outcome>;
  /** Stores something that nobody needs, to see whether the database takes writes again. */
  probe(id: number): Promise<Outcome>;
  close(): Promise<void>;
}
