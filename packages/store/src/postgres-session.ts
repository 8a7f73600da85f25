import { Socket } from 'node:net';
import { systemClock } from '@muster/base';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { bounded } from './bounded.js';
import type { Limits } from './limits.js';

/** How long the end of a connection waits for PostgreSQL to say goodbye. */
export const GOODBYE_MS = 1_000;

const INT8 = 20;
const NUMERIC = 1700;

/** What is long is compressed with less work, where PostgreSQL was built so; all of them read it. */
const LZ4 = `select set_config(name, 'lz4', false) from pg_settings
          where name = 'default_toast_compression' and 'lz4' = any(enumvals)`;

/** Counts, sums and times as numbers, as SQLite gives them; only for our own connections. */
export const NUMBERS: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (oid === INT8 || oid === NUMERIC) && format !== 'binary'
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

/**
 * SQLSTATEs that end the session: connection exceptions, operator intervention other than a cancelled query, a transaction that
 * stood still for too long, and a server that has become a read-only standby, so that the next connection finds the new primary.
 */
const ENDS_SESSION = /^(08|57P|25006|25P03)/;
/** Data, constraint, syntax, feature and program limit errors: the statement's own fault. */
const LASTING = /^(0A|22|23|42|54)/;
/** Serialization failure, deadlock. */
const CONFLICT = /^(40001|40P01)$/;

export function endsSession(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ENDS_SESSION.test(error.code ?? '');
}

export function isLasting(error: unknown): boolean {
  return error instanceof pg.DatabaseError && LASTING.test(error.code ?? '');
}

export function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && CONFLICT.test(error.code ?? '');
}

/**
 * One connection of the write lane. `lost` becomes true with the first sign that it has ended; every error
 * without a SQLSTATE is one, because then the server did not say it.
 */
export class Session {
  readonly #client: pg.Client;
  readonly #socket: Socket;
  #lost = false;

  private constructor(client: pg.Client, socket: Socket) {
    this.#client = client;
    this.#socket = socket;
    client.on('error', () => {
      this.#lost = true;
    });
    client.on('end', () => {
      this.#lost = true;
    });
  }

  static async connect(url: string, limits: Limits): Promise<Session> {
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: url,
      stream: () => socket,
      types: NUMBERS,
      connectionTimeoutMillis: limits.connectMs,
      // The server gives up first; this is for a server that has gone away without a word.
      query_timeout: limits.statementMs + limits.connectMs,
      keepAlive: true,
      // Statements that need not wait for each other do not: see `all`.
      pipeline: true,
      fallback_application_name: 'muster',
    });
    const session = new Session(client, socket);
    try {
      await client.connect();
      // A half-open session must not hold the marker row or the server's lock for long.
      await session.query(`
        set synchronous_commit = on;
        set statement_timeout = ${limits.statementMs};
        set idle_in_transaction_session_timeout = ${limits.idleMs};
        ${LZ4};
        set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`);
      return session;
    } catch (error) {
      await session.end();
      throw error;
    }
  }

  get lost(): boolean {
    return this.#lost;
  }

  async query(query: string | pg.QueryConfig, values?: readonly unknown[]): Promise<pg.QueryResult> {
    // The driver has other words for it, which say nothing to people.
    if (this.#lost) throw new Error('the connection to the database was lost');
    try {
      return await this.#client.query(query, values === undefined ? undefined : [...values]);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || endsSession(error)) this.#lost = true;
      throw error;
    }
  }

  /**
   * One after the other, sent at once: they wait for PostgreSQL once. Each is run whatever became of the one before, but in a
   * transaction none after the first that fails. @throws what the first of those that fail does, when all have been answered.
   */
  async all(queries: readonly (string | pg.QueryConfig)[]): Promise<readonly pg.QueryResult[]> {
    this.#socket.cork();
    const asked = queries.map((query) => this.query(query));
    this.#socket.uncork();
    const answers = await Promise.allSettled(asked);
    return answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    });
  }

  /** What other sessions tell by NOTIFY, and the end of the connection. */
  onNotice(heard: (payload: string) => void, ended: () => void): void {
    this.#client.on('notification', ({ payload }) => heard(payload ?? ''));
    this.#client.on('end', ended);
  }

  /** Cuts the connection: what is under way over it fails, as if it had been lost. */
  drop(): void {
    this.#lost = true;
    void this.end();
  }

  /** Closes, also under a running query. Waits for the server's goodbye only if one can be expected, and not for long. */
  async end(): Promise<void> {
    const ended = this.#client.end().catch(() => {});
    if (!this.#lost) {
      this.#lost = true;
      await bounded(systemClock, ended, GOODBYE_MS, 'the goodbye of PostgreSQL').catch(() => {});
    }
    this.#socket.destroy();
  }
}

class SessionClient implements PostgresPoolClient {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(query: unknown, values?: readonly unknown[]): unknown {
    if (typeof query !== 'string') throw new Error('the write lane has no cursors');
    return this.#session.query(query, values);
  }

  release(): void {}
}

/** Lets Kysely run on this session. */
export function poolOf(session: Session): PostgresPool {
  const client = new SessionClient(session);
  return { connect: async () => client, end: async () => {} };
}
