import { type Clock, MusterError } from '@muster/wire';
import Database from 'better-sqlite3';
import { Kysely, type SqliteDatabase, SqliteDialect, type SqliteStatement, type Transaction } from 'kysely';
import { bounded } from './bounded.js';
import type { Batch, Lane, Outcome } from './lane.js';
import type { Limits } from './limits.js';
import { sqliteDialect } from './migrations/dialects.js';
import { migrate } from './migrations/index.js';
import { createPrivate } from './private-file.js';
import type { Schema } from './schema.js';
import { sqliteText } from './statements.js';
import type { Statement } from './types.js';
import { WalFile } from './wal-file.js';

/** After these the same transaction may succeed: the disk, another process or the machine was at fault. */
const PASSING = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|NOMEM|READONLY|PROTOCOL|INTERRUPT|CORRUPT|NOTADB)/;
/** Pages of 4 KiB: 64 MiB for the writer. */
const CACHE_KIB = 65_536;
const WAL_KEPT_BYTES = 67_108_864;
/**
 * Pages in the log until they are copied into the database, inside a commit and with two more syncs: 32 MiB rather
 * than 4. A burst of commits touches the same pages again and again, and each is then copied once.
 */
const CHECKPOINT_PAGES = 8_192;

interface Prepared {
  readonly statement: Database.Statement<unknown[]>;
  readonly columns: readonly string[];
}

/** What the lane writes to besides the connection. */
export interface Disk {
  /** Resolves when everything committed before is on the disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** A database in memory is as durable as it can be. */
export const NO_DISK: Disk = { flush: async () => undefined, close: async () => undefined };

/**
 * The one connection that writes. better-sqlite3 is synchronous: the event loop stands still while a transaction is
 * written, but not while it is flushed. SQLite itself (`synchronous=NORMAL`) flushes when it copies its log into the
 * database; each commit is flushed by us, and stored only then. Readers may see it some milliseconds before.
 */
export class SqliteLane implements Lane {
  readonly #db: Database.Database;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #lost: (error: unknown) => void;
  readonly #prepared = new Map<string, Prepared>();
  /** Why a flush failed. What the disk has is unknown from then on: asking again would get a lie for an answer. */
  #failure: { readonly error: unknown } | null = null;

  /** @param lost Told when a flush fails: the process should end, and read what is stored. */
  constructor(db: Database.Database, limits: Limits, clock: Clock, disk: Disk, lost: (error: unknown) => void) {
    this.#db = db;
    this.#limits = limits;
    this.#clock = clock;
    this.#disk = disk;
    this.#lost = lost;
  }

  async write(_id: number, batch: Batch): Promise<Outcome> {
    return this.#attempt(() => {
      for (const { statement, rows } of batch) {
        const { statement: prepared, columns } = this.#prepare(statement);
        for (const row of rows) prepared.run(columns.map((column) => row[column]));
      }
    });
  }

  async probe(id: number): Promise<Outcome> {
    return this.#attempt(() => {
      this.#db
        .prepare(
          `insert into commit_marker (lane, seq, at) values ('probe', ?, ?)
           on conflict (lane) do update set seq = excluded.seq, at = excluded.at`,
        )
        .run(id, this.#clock.now());
    });
  }

  async transact(_id: number, work: (trx: Transaction<Schema>) => Promise<void>): Promise<Outcome> {
    const lease = new Lease(this.#db);
    const kysely = new Kysely<Schema>({ dialect: new SqliteDialect({ database: lease }) });
    try {
      await kysely.transaction().execute(async (trx) => {
        await bounded(this.#clock, work(trx), this.#limits.transactMs, 'the transaction').catch((error: unknown) => {
          lease.end();
          throw error;
        });
      });
    } catch (error) {
      this.#rollback();
      return judged(error);
    } finally {
      lease.end();
    }
    return this.#flushed();
  }

  /** Asked after a flush that failed: a local COMMIT that fails has failed. */
  async outcome(): Promise<Outcome> {
    return { kind: 'unknown', error: this.#failure?.error ?? new Error('no flush has failed') };
  }

  async close(): Promise<void> {
    this.#db.close();
    await this.#disk.close();
  }

  async #attempt(work: () => void): Promise<Outcome> {
    try {
      this.#db.exec('begin immediate');
      work();
      this.#db.exec('commit');
    } catch (error) {
      this.#rollback();
      return judged(error);
    }
    return this.#flushed();
  }

  async #flushed(): Promise<Outcome> {
    try {
      await this.#disk.flush();
      return { kind: 'stored' };
    } catch (error) {
      this.#failure = { error };
      this.#lost(error);
      return { kind: 'unknown', error };
    }
  }

  /** Some errors (disk full) end the transaction by themselves. */
  #rollback(): void {
    try {
      if (this.#db.inTransaction) this.#db.exec('rollback');
    } catch {
      // The next transaction finds out and reports it.
    }
  }

  #prepare(statement: Statement): Prepared {
    const known = this.#prepared.get(statement.name);
    if (known !== undefined) return known;
    const prepared = {
      statement: this.#db.prepare<unknown[]>(sqliteText(statement)),
      columns: Object.keys(statement.columns),
    };
    this.#prepared.set(statement.name, prepared);
    return prepared;
  }
}

const NOTHING: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
};

/**
 * The connection as one `transact` has it. There is only this one connection, so a callback that was cut off and goes
 * on must not get at it any more: its statements would become part of somebody else's transaction.
 */
class Lease implements SqliteDatabase {
  readonly #db: Database.Database;
  #ended = false;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  prepare(text: string): SqliteStatement {
    // Some errors (disk full) have ended the transaction already. Kysely rolls back all the same, and that error would
    // hide the first.
    if (text === 'rollback') return this.#db.inTransaction ? this.#db.prepare(text) : NOTHING;
    if (this.#ended) throw new Error('the transaction has ended');
    return this.#db.prepare(text);
  }

  end(): void {
    this.#ended = true;
  }

  close(): void {}
}

function judged(error: unknown): Outcome {
  const passing = error instanceof Database.SqliteError && PASSING.test(error.code);
  return { kind: passing ? 'failed' : 'refused', error };
}

export async function migrated(db: Database.Database, now: number): Promise<void> {
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) });
  db.exec('begin immediate');
  try {
    await migrate(kysely, sqliteDialect, now);
    db.exec('commit');
  } catch (error) {
    if (db.inTransaction) db.exec('rollback');
    throw error;
  }
}

function connect(path: string, limits: Limits): Database.Database {
  createPrivate(path);
  const db = new Database(path, { timeout: limits.busyMs });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  return db;
}

/** Opens and migrates the database in the file `path`; its directory must exist. `lost`: see `SqliteLane`. */
export async function openSqlite(
  path: string,
  limits: Limits,
  clock: Clock,
  lost: (error: unknown) => void,
): Promise<{ readonly lane: Lane; readonly read: Kysely<Schema> }> {
  let writer: Database.Database | undefined;
  try {
    writer = connect(path, limits);
    await migrated(writer, clock.now());
    const reader = new Database(path, { readonly: true, fileMustExist: true, timeout: limits.busyMs });
    const read = new Kysely<Schema>({ dialect: new SqliteDialect({ database: reader }) });
    return { lane: new SqliteLane(writer, limits, clock, new WalFile(path), lost), read };
  } catch (error) {
    writer?.close();
    if (error instanceof MusterError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('store_unavailable', { reason: `${path}: ${reason}` }, { cause: error });
  }
}
