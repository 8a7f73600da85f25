import { MusterError } from '@muster/wire';
import { type Kysely, sql } from 'kysely';
import { nodesAndPushJobs } from './001-nodes-and-push-jobs.js';
import { events } from './002-events.js';
import type { Dialect, Migration } from './types.js';

/** In order; versions count up by one. */
const MIGRATIONS: readonly Migration[] = [nodesAndPushJobs, events];

/** The newest schema this code knows. */
export const SCHEMA_VERSION = MIGRATIONS.length;

interface Versions {
  schema_version: { version: number; name: string; applied_at: number };
}

/**
 * Brings the schema up to date. Runs inside the caller's transaction, which also keeps other processes out.
 *
 * @throws MusterError `schema_too_new` when a newer Muster has been here.
 */
export async function migrate(connection: Kysely<unknown>, dialect: Dialect, now: number): Promise<void> {
  const db = connection as Kysely<Versions>;
  await sql`create table if not exists schema_version (
    version ${dialect.integer} primary key, name ${dialect.text} not null, applied_at ${dialect.integer} not null
  ) ${dialect.table}`.execute(db);
  const newest = await db.selectFrom('schema_version').select('version').orderBy('version', 'desc').executeTakeFirst();
  const found = newest?.version ?? 0;
  if (found > SCHEMA_VERSION) throw new MusterError('schema_too_new', { found, known: SCHEMA_VERSION });
  for (const migration of MIGRATIONS.slice(found)) {
    await migration.up(connection, dialect);
    const { version, name } = migration;
    await db.insertInto('schema_version').values({ version, name, applied_at: now }).execute();
  }
}
