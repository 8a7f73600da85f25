import { type Clock, MusterError } from '@muster/wire';
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely';
import pg from 'pg';
import type { Lane } from './lane.js';
import type { Limits } from './limits.js';
import { PostgresLane } from './postgres-lane.js';
import { NUMBERS } from './postgres-session.js';
import type { Schema } from './schema.js';
import type { StoreLog } from './types.js';
import { unusablePostgres } from './unusable.js';

export interface PostgresOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: StoreLog;
  readonly random: (bytes: number) => Uint8Array;
  readonly exclusive: boolean;
}

function unavailable(error: unknown): MusterError {
  if (error instanceof MusterError) return error;
  const text = error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : error;
  return new MusterError('store_unavailable', { reason: String(text) }, { cause: error });
}

/** Connections for reads, refused by the server when they try to write. */
function readers(url: string, { limits, log }: PostgresOptions): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    types: NUMBERS,
    max: limits.readConnections,
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.statementMs + limits.connectMs,
    fallback_application_name: 'muster',
    onConnect: async (client) => {
      await client.query(`set default_transaction_read_only = on; set statement_timeout = ${limits.statementMs}`);
    },
  });
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  return {
    connect: async () => {
      try {
        return await pool.connect();
      } catch (error) {
        throw unavailable(error);
      }
    },
    end: () => pool.end(),
  };
}

/** Opens and migrates the database at `url`. @throws MusterError `database_unusable` and as `PostgresLane.open` */
export async function openPostgres(
  url: string,
  options: PostgresOptions,
): Promise<{ readonly lane: Lane; readonly read: Kysely<Schema> }> {
  const { random, exclusive, limits, clock } = options;
  const name = Buffer.from(random(16)).toString('hex');
  try {
    const lane = await PostgresLane.open({ url, name, exclusive, limits, clock });
    return { lane, read: new Kysely<Schema>({ dialect: new PostgresDialect({ pool: readers(url, options) }) }) };
  } catch (error) {
    throw error instanceof MusterError ? error : unusablePostgres(url, error);
  }
}
