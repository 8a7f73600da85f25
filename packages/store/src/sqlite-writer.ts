import type { SqlBatch, SqliteConnection, SqlResult, Written } from './sqlite-connection.js';

/** A `SqliteConnection`, wherever it is. What is asked of it happens in that order, one after the other. */
export interface SqliteWriter {
  write(batch: SqlBatch): Promise<Written>;
  finish(batch: SqlBatch): Promise<Written>;
  query(text: string, parameters: readonly unknown[]): Promise<SqlResult>;
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** In this thread, which stands still meanwhile: for databases in memory. */
export function writerHere(connection: SqliteConnection): SqliteWriter {
  return {
    write: async (batch) => connection.write(batch),
    finish: async (batch) => connection.finish(batch),
    query: async (text, parameters) => connection.query(text, parameters),
    rollback: async () => connection.rollback(),
    close: async () => connection.close(),
  };
}
