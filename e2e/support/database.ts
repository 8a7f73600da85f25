import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  /** Undefined: the server embeds SQLite in its data directory. */
  readonly url: string | undefined;
  drop(): Promise<void>;
}

/** A fresh PostgreSQL database when MUSTER_TEST_DATABASE_URL says where, SQLite otherwise. */
export async function testDatabase(): Promise<TestDatabase> {
  const base = process.env.MUSTER_TEST_DATABASE_URL;
  if (base === undefined || base === '') return { url: undefined, drop: async () => undefined };
  const name = `muster_e2e_${randomBytes(6).toString('hex')}`;
  await administer(base, `CREATE DATABASE ${name}`);
  const url = new URL(base);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(base, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
