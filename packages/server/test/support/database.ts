import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  /** Undefined: SQLite in the server's data directory. */
  readonly url: string | undefined;
  drop(): Promise<void>;
}

/** A database of its own for each server under test, when MUSTER_TEST_DATABASE_URL names a PostgreSQL. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const base = process.env.MUSTER_TEST_DATABASE_URL;
  if (base === undefined) return { url: undefined, drop: async () => undefined };
  const name = `muster_server_${randomBytes(6).toString('hex')}`;
  await administer(base, `create database ${name}`);
  const own = new URL(base);
  own.pathname = name;
  return { url: own.href, drop: () => administer(base, `drop database ${name} with (force)`) };
}

async function administer(url: string, command: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(command);
  } finally {
    await client.end();
  }
}
