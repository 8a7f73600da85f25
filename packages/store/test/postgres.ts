import { randomBytes } from 'node:crypto';
import type { Store } from '@muster/store';
import pg from 'pg';
import type { Harness } from './conformance.js';

const SERVER = process.env.MUSTER_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

export interface PostgresHarness extends Harness {
  readonly url: string;
  /** Ends every connection to the database. */
  terminate(): Promise<void>;
}

async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`these tests need PostgreSQL at ${SERVER} (MUSTER_TEST_DATABASE_URL)`, { cause: error });
  }
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** A database of its own, dropped at the end. Its outage: nobody may connect. */
export async function postgres(): Promise<PostgresHarness> {
  const name = `muster_test_${randomBytes(6).toString('hex')}`;
  const url = new URL(SERVER);
  url.pathname = `/${name}`;
  const server = (text: string) => run(SERVER, text);
  const terminate = () => server(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  await server(`create database ${name}`);
  return {
    location: { kind: 'postgres', url: url.href },
    url: url.href,
    terminate,
    async fail(_store: Store) {
      await server(`alter database ${name} allow_connections false`);
      await terminate();
    },
    heal: () => server(`alter database ${name} allow_connections true`),
    raw: (text) => run(url.href, text),
    drop: () => server(`drop database ${name} with (force)`),
  };
}
