import { randomBytes } from 'node:crypto';
import type { Store } from '@muster/store';
import pg from 'pg';
import type { Harness } from './conformance/suite.js';
import { cutter } from './cutter.js';
import { NO_ROWS } from './no-rows.js';

const SERVER = process.env.MUSTER_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

export interface PostgresHarness extends Harness {
  readonly url: string;
  query(text: string): Promise<readonly unknown[]>;
  /** Ends every connection to the database. */
  terminate(): Promise<void>;
}

async function run(url: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`these tests need PostgreSQL at ${SERVER} (MUSTER_TEST_DATABASE_URL)`, { cause: error });
  }
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const name = `muster_test_${randomBytes(6).toString('hex')}`;
let created: Promise<unknown> | undefined;

const server = (text: string) => run(SERVER, text);

/**
 * A database of this file's own, emptied for each test: making and dropping one takes a checkpoint. Its outage:
 * nobody may connect.
 */
export async function postgres(): Promise<PostgresHarness> {
  created ??= server(`create database ${name}`);
  await created;
  const address = new URL(SERVER);
  address.pathname = `/${name}`;
  const url = address.href;
  const untouched = () => run(url, 'drop schema public cascade; create schema public');
  /** Its tables may be others. */
  let altered = false;
  const terminate = () => server(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  const heal = () => server(`alter database ${name} allow_connections true`);
  return {
    location: { kind: 'postgres', url },
    url,
    query: (text) => run(url, text),
    async terminate() {
      await terminate();
    },
    async fail(_store: Store) {
      await server(`alter database ${name} allow_connections false`);
      await terminate();
    },
    async heal() {
      await heal();
    },
    async freezable() {
      const way = await cutter(url);
      return { location: { kind: 'postgres', url: way.url }, limits: {}, ...way };
    },
    async raw(text) {
      altered = true;
      await run(url, text);
    },
    async untouched() {
      await untouched();
    },
    async drop() {
      await heal();
      // What a failed test has left open may hold locks.
      await terminate();
      await (altered ? untouched() : run(url, NO_ROWS));
    },
  };
}

export async function dropDatabase(): Promise<void> {
  if (created === undefined) return;
  created = undefined;
  await server(`drop database if exists ${name} with (force)`);
}
