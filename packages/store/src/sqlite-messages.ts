import Database from 'better-sqlite3';
import type { SqlBatch, SqlResult, Written } from './sqlite-connection.js';

/** What the thread that writes is started with. */
export interface ThreadSettings {
  readonly path: string;
  readonly busyMs: number;
}

export type Request =
  | { readonly kind: 'write' | 'finish'; readonly batch: SqlBatch }
  | { readonly kind: 'query'; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'rollback' }
  | { readonly kind: 'close' };

/** The first says that the database is open; then there is one for each request, in their order. */
export type Result = SqlResult | Written;
export type Reply = { readonly result?: Result } | { readonly failure: Failure };

/** An error of SQLite would arrive as any other: without its code. */
export type Failure = { readonly code: string; readonly message: string } | { readonly error: unknown };

export function failureOf(error: unknown): Failure {
  return error instanceof Database.SqliteError ? { code: error.code, message: error.message } : { error };
}

export function errorOf(failure: Failure): unknown {
  return 'error' in failure ? failure.error : new Database.SqliteError(failure.message, failure.code);
}
