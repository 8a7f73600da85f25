import Database from 'better-sqlite3';
import type { SqlBatch, SqlResult, Written } from './sqlite-connection.js';

/** The database that a thread is to write to. */
export interface ThreadSettings {
  readonly path: string;
  readonly busyMs: number;
}

/** A thread has one database at a time: `open` is the first request, and that after a `close`. */
export type Request =
  | { readonly kind: 'open'; readonly settings: ThreadSettings }
  | { readonly kind: 'write' | 'finish'; readonly batch: SqlBatch }
  | { readonly kind: 'query'; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'rollback' }
  | { readonly kind: 'close' };

/** One for each request, in their order. */
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
