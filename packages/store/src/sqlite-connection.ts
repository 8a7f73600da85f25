import Database from 'better-sqlite3';
import { Prepared } from './sqlite-prepared.js';
import type { SqlValue } from './types.js';

/** One transaction of hot statements, each with its rows: lists of values in the order of its holes. */
export type SqlBatch = readonly {
  readonly text: string;
  readonly rows: readonly (readonly SqlValue[])[];
  /** The rows are conditions: for each the text finds a row, or none. */
  readonly guard?: 'guard' | 'absent' | undefined;
  readonly numbers?: Numbers | undefined;
}[];

/** Numbers that the rows of a statement take. */
export interface Numbers {
  /** Takes so many, and finds the last of them. */
  readonly text: string;
  readonly count: number;
  /** Places of the values that the first number is added to. */
  readonly places: readonly number[];
}

/** What became of a batch. */
export interface Written {
  /** The guards that do not hold: then nothing is stored. */
  readonly failed: readonly Place[];
  /** The first of the numbers that it was given; 0 if it takes none. */
  readonly first: number;
}

/** Which statement of a batch, and which of its rows. */
export type Place = readonly [statement: number, row: number];

export interface SqlResult {
  readonly rows: readonly unknown[];
  readonly changes: number;
  readonly insertId: number | bigint;
}

/** More makes nothing faster, but the server larger. */
const CACHE_KIB = 16_384;
const WAL_KEPT_BYTES = 67_108_864;
/**
 * Pages in the log until they are copied into the database, inside a commit and with two more syncs: 8 MiB. With fewer,
 * a page that a burst of commits touches again and again is copied each time; with more, the commit that copies them
 * takes longer than what goes on beside it.
 */
const CHECKPOINT_PAGES = 2_048;

/**
 * Opens a database to write to. A commit returns when it is on the disk (`synchronous=FULL`), and readers see nothing
 * of it before.
 */
export function connect(path: string, busyMs: number): Database.Database {
  const db = new Database(path, { timeout: busyMs });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  return db;
}

/** The one connection that writes. better-sqlite3 is synchronous: its thread stands still while SQLite is at work. */
export class SqliteConnection {
  readonly #db: Database.Database;
  readonly #prepared: Prepared;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#prepared = new Prepared(db);
  }

  /** A transaction of its own: all of it, or an error and nothing. */
  write(batch: SqlBatch): Written {
    return this.#orNothing(() => {
      this.#db.exec('begin immediate');
      return this.#complete(batch);
    });
  }

  /** Ends the transaction that is under way with this: all of it, or an error and nothing. */
  finish(batch: SqlBatch): Written {
    return this.#orNothing(() => this.#complete(batch));
  }

  #complete(batch: SqlBatch): Written {
    const failed = this.#failedGuards(batch);
    if (failed.length > 0) {
      this.#db.exec('rollback');
      return { failed, first: 0 };
    }
    let first = 0;
    for (const { text, rows, guard, numbers } of batch) {
      if (guard !== undefined) continue;
      const statement = this.#prepared.get(text);
      if (numbers === undefined) {
        for (const row of rows) statement.run(row);
      } else {
        first = this.#take(numbers);
        for (const row of rows) statement.run(withNumbers(row, numbers, first));
      }
    }
    this.#db.exec('commit');
    return { failed, first };
  }

  #orNothing(work: () => Written): Written {
    try {
      return work();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Answers the first. */
  #take({ text, count }: Numbers): number {
    const { last } = this.#prepared.get(text).get([count]) as { readonly last: number };
    return last - count + 1;
  }

  #failedGuards(batch: SqlBatch): readonly Place[] {
    const failed: Place[] = [];
    for (const [index, { text, rows, guard }] of batch.entries()) {
      if (guard === undefined) continue;
      const statement = this.#prepared.get(text);
      for (const [row, values] of rows.entries()) {
        const found = statement.get(values) !== undefined;
        if (found !== (guard === 'guard')) failed.push([index, row]);
      }
    }
    return failed;
  }

  /** One statement, of any kind. */
  query(text: string, parameters: readonly unknown[]): SqlResult {
    const statement = this.#prepared.get(text);
    if (statement.reader) return { rows: statement.all(parameters), changes: 0, insertId: 0 };
    const { changes, lastInsertRowid } = statement.run(parameters);
    return { rows: [], changes, insertId: lastInsertRowid };
  }

  /** Does nothing without a transaction: some errors (disk full) end it by themselves. */
  rollback(): void {
    try {
      if (this.#db.inTransaction) this.#db.exec('rollback');
    } catch {
      // The next transaction finds out and reports it.
    }
  }

  /**
   * Leaves everything in the one file, so that a copy of it is whole. Where that fails (a full disk) nothing is lost: the
   * log stays beside it, and the error tells.
   */
  close(): void {
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      this.#db.close();
    }
  }
}

function withNumbers(row: readonly SqlValue[], { places }: Numbers, first: number): SqlValue[] {
  const values = [...row];
  for (const place of places) values[place] = Number(values[place]) + first;
  return values;
}
