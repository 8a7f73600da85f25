import { type Kysely, sql } from 'kysely';
import { MusterError } from '../errors.js';
import type { Schema } from '../schema.js';
import { storeMigrations } from './own.js';
import type { Dialect, Migrations } from './types.js';

interface Versions {
  schema_version: { package: string; version: number; name: string; applied_at: number };
}

/** Has a newer Muster been here? Nothing is changed. The tables of the store itself have to be there. */
export async function schemaIsNewer(read: Kysely<Schema>, packages: readonly Migrations[]): Promise<boolean> {
  const rows = await (read as unknown as Kysely<Versions>)
    .selectFrom('schema_version')
    .select(['package', (versions) => versions.fn.max('version').as('version')])
    .groupBy('package')
    .execute();
  const known = new Map([storeMigrations, ...packages].map(({ package: owner, steps }) => [owner, steps.length]));
  return rows.some(({ package: owner, version }) => version > (known.get(owner) ?? 0));
}

/**
 * Brings the tables of all packages up to date, lower packages first. Runs inside the caller's transaction, which also
 * keeps other processes out.
 *
 * @throws MusterError `schema_too_new` when a newer Muster has been here.
 */
export async function migrate(
  connection: Kysely<unknown>,
  dialect: Dialect,
  now: number,
  packages: readonly Migrations[],
): Promise<void> {
  const db = connection as Kysely<Versions>;
  await sql`create table if not exists schema_version (
    package ${dialect.text} not null, version ${dialect.integer} not null, name ${dialect.text} not null,
    applied_at ${dialect.integer} not null, primary key (package, version)
  ) ${dialect.table}`.execute(db);
  for (const { package: owner, steps } of [storeMigrations, ...packages]) {
    const newest = await db
      .selectFrom('schema_version')
      .select('version')
      .where('package', '=', owner)
      .orderBy('version', 'desc')
      .executeTakeFirst();
    const found = newest?.version ?? 0;
    if (found > steps.length) throw new MusterError('schema_too_new', { found, known: steps.length });
    for (const [index, { name, up }] of steps.entries()) {
      if (index < found) continue;
      await up(connection, dialect);
      await db
        .insertInto('schema_version')
        .values({ package: owner, version: index + 1, name, applied_at: now })
        .execute();
    }
  }
}
