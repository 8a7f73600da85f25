import { sql } from 'kysely';
import type { Dialect } from './types.js';

export const sqliteDialect: Dialect = {
  kind: 'sqlite',
  text: sql`text`,
  integer: sql`integer`,
  bytes: sql`blob`,
  serial: sql`integer primary key autoincrement`,
  table: sql`strict`,
  keyed: sql`strict, without rowid`,
};

export const postgresDialect: Dialect = {
  kind: 'postgres',
  text: sql`text collate "C"`,
  integer: sql`bigint`,
  bytes: sql`bytea`,
  serial: sql`bigint generated always as identity primary key`,
  table: sql``,
  keyed: sql``,
};
