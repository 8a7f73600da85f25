import { existsSync } from 'node:fs';
import type { Clock } from '@muster/base';
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { MusterError } from './errors.js';
import { LocalHints } from './hints/local.js';
import type { Limits } from './limits.js';
import { sqliteDialect } from './migrations/dialects.js';
import { migrate } from './migrations/index.js';
import type { Migrations } from './migrations/types.js';
import type { Opened } from './opened.js';
import { createPrivate } from './private-file.js';
import type { Schema } from './schema.js';
import { connect } from './sqlite-connection.js';
import { SqliteLane } from './sqlite-lane.js';
import { sqliteReads } from './sqlite-reads.js';
import { ThreadWriter } from './sqlite-thread-writer.js';
import { SqliteWatch } from './sqlite-watch.js';
import type { SqliteWriter } from './sqlite-writer.js';
import type { StoreLog } from './types.js';
import { unusableFile } from './unusable.js';

export async function migrated(db: Database.Database, now: number, packages: readonly Migrations[]): Promise<void> {
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) });
  db.exec('begin immediate');
  try {
    await migrate(kysely, sqliteDialect, now, packages);
    db.exec('commit');
  } catch (error) {
    if (db.inTransaction) db.exec('rollback');
    throw error;
  }
}

export interface SqliteOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: StoreLog;
  readonly migrations: readonly Migrations[];
  /** See `StoreOptions`. */
  readonly exclusive: boolean;
  readonly established: boolean;
  /** See `SqliteLane`. */
  readonly lost: (error: unknown) => void;
}

/** Opens and migrates the database in the file `path`; its directory must exist. @throws MusterError `database_unusable`, `database_lost` */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Opened> {
  const { limits, clock, log, lost } = options;
  try {
    if (options.established) refuseEmpty(path);
    createPrivate(path);
    const first = connect(path, limits.busyMs);
    try {
      await migrated(first, clock.now(), options.migrations);
      if (options.exclusive) giveLeasesBack(first, log);
    } finally {
      first.close();
    }
    const watch = new SqliteWatch(path, limits, log);
    const reader = new Database(path, { readonly: true, fileMustExist: true, timeout: limits.busyMs });
    const writer = await ThreadWriter.open({ path, busyMs: limits.busyMs }).catch((error: unknown) => {
      reader.close();
      throw error;
    });
    const database = sqliteReads(reader, (error) => watch.damaged([error.message]));
    return {
      lane: new SqliteLane(lastToClose(writer, reader, watch), limits, clock, lost),
      read: new Kysely<Schema>({ dialect: new SqliteDialect({ database }) }),
      hints: new LocalHints(log),
      watch() {
        watch.start();
        return watch;
      },
    };
  } catch (error) {
    throw error instanceof MusterError ? error : unusableFile(path, error);
  }
}

/** Whoever held one is gone: nobody needs to wait until it is over, but may, where nothing can be written now. */
function giveLeasesBack(db: Database.Database, log: StoreLog): void {
  try {
    db.exec('update leases set holder = null where holder is not null');
  } catch (error) {
    log.warn({ err: error }, 'leases could not be given back: what they are for begins when they are over');
  }
}

/** Whoever closes last takes what is in the log into the file; a connection for reads cannot. */
function lastToClose(writer: SqliteWriter, reader: Database.Database, watch: SqliteWatch): SqliteWriter {
  return {
    write: (batch) => writer.write(batch),
    finish: (batch) => writer.finish(batch),
    query: (text, parameters) => writer.query(text, parameters),
    rollback: () => writer.rollback(),
    async close() {
      await watch.stop();
      reader.close();
      await writer.close();
    },
  };
}

/** What is in the log beside the file counts, too: SQLite reads both. */
function refuseEmpty(path: string): void {
  if (!existsSync(path)) return;
  const db = new Database(path, { readonly: true });
  try {
    const tables = db.prepare('select count(*) from sqlite_schema').pluck().get();
    if (tables === 0) throw new MusterError('database_lost', { path, keys: 'server.pem' });
  } finally {
    db.close();
  }
}
