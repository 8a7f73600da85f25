import type { Kysely, RawBuilder } from 'kysely';

/** What differs between the databases when tables are made. */
export interface Dialect {
  readonly kind: 'sqlite' | 'postgres';
  /** Compared by bytes on both databases, so that lists come in the same order. */
  readonly text: RawBuilder<unknown>;
  readonly integer: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** A primary key that the database counts up and never uses again. */
  readonly serial: RawBuilder<unknown>;
  /** Ends `create table`: checked types in SQLite, as PostgreSQL has them. */
  readonly table: RawBuilder<unknown>;
  /** As `table`, for tables that are always reached by their primary key. */
  readonly keyed: RawBuilder<unknown>;
}

/** Goes only forwards, and is never edited once released. Its version is its place in the list, from 1. */
export interface Migration {
  readonly name: string;
  up(db: Kysely<unknown>, dialect: Dialect): Promise<void>;
}

/** How the tables of one package came about. */
export interface Migrations {
  readonly package: string;
  readonly steps: readonly Migration[];
}
