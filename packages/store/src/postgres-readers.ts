import { Socket } from 'node:net';
import { systemClock } from '@muster/base';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { bounded, TookTooLong } from './bounded.js';
import { MusterError } from './errors.js';
import type { Limits } from './limits.js';
import { endsSession, GOODBYE_MS, isLasting, NUMBERS } from './postgres-session.js';
import type { StoreLog } from './types.js';
import { reasonOf, unavailable } from './unavailable.js';

/** What PostgreSQL says to a statement that wants to write over one of these connections. */
const READ_ONLY = '25006';

/**
 * Connections for reads, refused by the server when they try to write.
 *
 * A read whose connection is lost, or which PostgreSQL cannot serve now, is rejected with `store_unavailable`; the next
 * one gets another connection. While PostgreSQL hangs (`hang`), reads are rejected at once.
 */
export class PostgresReaders implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #sockets = new Set<Socket>();
  /** Reads under way, and those that wait for a connection: how to reject each. */
  readonly #cuts = new Set<(error: MusterError) => void>();
  #hung: string | null = null;

  constructor(url: string, limits: Limits, log: StoreLog) {
    this.#pool = new pg.Pool({
      connectionString: url,
      types: NUMBERS,
      max: limits.readConnections,
      connectionTimeoutMillis: limits.connectMs,
      query_timeout: limits.statementMs + limits.connectMs,
      fallback_application_name: 'muster',
      stream: () => this.#socket(),
      onConnect: async (client) => {
        await client.query(`set default_transaction_read_only = on; set statement_timeout = ${limits.statementMs}`);
      },
    });
    // The pool listens to idle connections only. An error that nobody listens to would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
    this.#pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  }

  async connect(): Promise<PostgresPoolClient> {
    const connecting = this.#pool.connect();
    try {
      return new Reader(await this.unlessHung(connecting), this);
    } catch (error) {
      // It may come when nobody waits for it any more.
      connecting.then(
        (client) => client.release(true),
        () => undefined,
      );
      throw error instanceof MusterError ? error : unavailable(reasonOf(error), error);
    }
  }

  /** From now on PostgreSQL does not answer: reads are rejected, those under way, too. */
  hang(reason: string): void {
    this.#hung = reason;
    for (const cut of [...this.#cuts]) cut(unavailable(reason));
  }

  /** PostgreSQL answers again. */
  resume(): void {
    this.#hung = null;
  }

  /** `work`, or `store_unavailable` as soon as PostgreSQL hangs. */
  async unlessHung<T>(work: Promise<T>): Promise<T> {
    let cut: (error: MusterError) => void = () => undefined;
    const hung = new Promise<never>((_resolve, reject) => {
      cut = reject;
    });
    this.#cuts.add(cut);
    if (this.#hung !== null) cut(unavailable(this.#hung));
    try {
      return await Promise.race([work, hung]);
    } finally {
      this.#cuts.delete(cut);
    }
  }

  async end(): Promise<void> {
    try {
      await bounded(systemClock, this.#pool.end(), GOODBYE_MS, 'the end of the connections for reads');
    } catch (error) {
      // Nothing is lost with a goodbye that PostgreSQL does not answer.
      if (!(error instanceof TookTooLong)) throw error;
    } finally {
      for (const socket of this.#sockets) socket.destroy();
    }
  }

  /** Kept, so that a connection can be ended when PostgreSQL does not answer. */
  #socket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** A connection while one read has it. */
class Reader implements PostgresPoolClient {
  readonly #client: pg.PoolClient;
  readonly #readers: PostgresReaders;
  /** Why the connection can serve no other read. */
  #lost: Error | undefined;

  constructor(client: pg.PoolClient, readers: PostgresReaders) {
    this.#client = client;
    this.#readers = readers;
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(text: unknown, values?: readonly unknown[]): unknown {
    if (typeof text !== 'string') throw new Error('reads have no cursors');
    return this.#query(text, values ?? []);
  }

  release(): void {
    this.#client.release(this.#lost);
  }

  async #query(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    const running = this.#client.query(text, [...values]);
    try {
      return await this.#readers.unlessHung(running);
    } catch (error) {
      running.catch(() => undefined);
      if (!(error instanceof pg.DatabaseError) || endsSession(error)) this.#lost = error as Error;
      if (error instanceof MusterError || isOwnFault(error)) throw error;
      throw unavailable(reasonOf(error), error);
    }
  }
}

/** Of the statement: another time it would fail again. */
function isOwnFault(error: unknown): boolean {
  return isLasting(error) || (error instanceof pg.DatabaseError && error.code === READ_ONLY);
}
