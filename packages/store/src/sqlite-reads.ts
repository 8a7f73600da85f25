import Database from 'better-sqlite3';
import type { SqliteDatabase } from 'kysely';
import { Prepared } from './sqlite-prepared.js';
import { reasonOf, unavailable } from './unavailable.js';

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/;
/** The disk, another process or the machine is at fault, not the statement. */
const PASSING = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|NOMEM|PROTOCOL|INTERRUPT)/;

/**
 * A connection for reads as Kysely uses it. What the database cannot read now is rejected with `store_unavailable`.
 *
 * @param damaged Told of a page that cannot be read.
 */
export function sqliteReads(db: Database.Database, damaged: (error: Error) => void): SqliteDatabase {
  const told = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error;
      if (DAMAGED.test(error.code)) damaged(error);
      else if (!PASSING.test(error.code)) throw error;
      throw unavailable(reasonOf(error), error);
    }
  };
  const prepared = new Prepared(db);
  return {
    prepare(text) {
      const statement = told(() => prepared.get(text));
      return {
        reader: statement.reader,
        all: (parameters) => told(() => statement.all(parameters)),
        run: (parameters) => told(() => statement.run(parameters)),
        iterate: (parameters) => told(() => statement.iterate(parameters)),
      };
    },
    close: () => void db.close(),
  };
}
