import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** Names the databases that the tests of one run make in PostgreSQL, and drops them after the last test. */
export async function setup(): Promise<void> {
  process.env.MUSTER_TEST_DATABASE_PREFIX ??= `muster_test_${randomBytes(4).toString('hex')}_`;
}

export async function teardown(): Promise<void> {
  const server = process.env.MUSTER_TEST_DATABASE_URL;
  const prefix = process.env.MUSTER_TEST_DATABASE_PREFIX;
  if (server === undefined || prefix === undefined) return;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    const found = await client.query<{ name: string }>(
      'select datname as name from pg_database where starts_with(datname, $1)',
      [prefix],
    );
    for (const { name } of found.rows) await client.query(`drop database if exists ${name} with (force)`);
  } finally {
    await client.end();
  }
}
