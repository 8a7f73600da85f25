import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { NO_ROWS } from '../../../store/test/no-rows.js';

export interface TestDatabase {
  /** Undefined: SQLite in the server's data directory. */
  readonly url: string | undefined;
  /** Whoever used it is done. */
  release(): Promise<void>;
}

/** Databases that nobody uses. Making one takes longer than most tests, so that the next test gets it, emptied. */
const spare: string[] = [];

/** A database of its own for each server under test, when MUSTER_TEST_DATABASE_URL names a PostgreSQL. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env.MUSTER_TEST_DATABASE_URL;
  if (server === undefined) return { url: undefined, release: async () => undefined };
  const url = spare.pop() ?? (await create(server));
  return {
    url,
    async release() {
      await run(url, DESERTED + NO_ROWS);
      spare.push(url);
    },
  };
}

async function create(server: string): Promise<string> {
  const prefix = process.env.MUSTER_TEST_DATABASE_PREFIX;
  if (prefix === undefined) throw new Error('scripts/vitest-databases.ts must run before the tests');
  const name = prefix + randomBytes(6).toString('hex');
  await run(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

/** The last session of others has ended: that of a server that was killed may still be storing. */
const DESERTED = `
  set statement_timeout = '30s';
  do $$
  begin
    while exists (select from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()) loop
      perform pg_sleep(0.005), pg_stat_clear_snapshot();
    end loop;
  end $$;`;

async function run(url: string, command: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(command);
  } finally {
    await client.end();
  }
}
