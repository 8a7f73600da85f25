import { type Clock, MusterError } from '@muster/wire';
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import type { Lane } from './lane.js';
import type { Limits } from './limits.js';
import { sqliteDialect } from './migrations/dialects.js';
import { migrate } from './migrations/index.js';
import { createPrivate } from './private-file.js';
import type { Schema } from './schema.js';
import { connect } from './sqlite-connection.js';
import { SqliteLane } from './sqlite-lane.js';
import { ThreadWriter } from './sqlite-thread-writer.js';
import { unusableFile } from './unusable.js';

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

/** Opens and migrates the database in the file `path`; its directory must exist. `lost`: see `SqliteLane`. */
export async function openSqlite(
  path: string,
  limits: Limits,
  clock: Clock,
  lost: (error: unknown) => void,
): Promise<{ readonly lane: Lane; readonly read: Kysely<Schema> }> {
  try {
    createPrivate(path);
    const first = connect(path, limits.busyMs);
    await migrated(first, clock.now()).finally(() => first.close());
    const reader = new Database(path, { readonly: true, fileMustExist: true, timeout: limits.busyMs });
    const writer = await ThreadWriter.open({ path, busyMs: limits.busyMs }).catch((error: unknown) => {
      reader.close();
      throw error;
    });
    const read = new Kysely<Schema>({ dialect: new SqliteDialect({ database: reader }) });
    return { lane: new SqliteLane(writer, limits, clock, lost), read };
  } catch (error) {
    throw error instanceof MusterError ? error : unusableFile(path, error);
  }
}
