import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Schema } from './schema.js';
import type { SqlBatch, Written } from './sqlite-connection.js';
import type { SqliteWriter } from './sqlite-writer.js';

/**
 * The connection as one `transact` has it. There is only this one connection, so a callback that was cut off and goes
 * on must not get at it any more: its statements would become part of somebody else's transaction.
 */
export class SqliteTransaction implements Driver, DatabaseConnection {
  readonly #writer: SqliteWriter;
  #ended = false;
  #last: SqlBatch = [];
  #written: Written = { failed: [], first: 0 };

  constructor(writer: SqliteWriter) {
    this.#writer = writer;
  }

  /** For Kysely: everything that is asked of it happens here. */
  kysely(): Kysely<Schema> {
    return new Kysely<Schema>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => this,
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    });
  }

  /** Nothing else gets at the connection. */
  end(): void {
    this.#ended = true;
  }

  /** What is written at the end of the transaction. */
  endWith(batch: SqlBatch): void {
    this.#last = batch;
  }

  /** What became of that. */
  get written(): Written {
    return this.#written;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended) throw new Error('the transaction has ended');
    const { rows, changes, insertId } = await this.#writer.query(sql, parameters);
    return { rows: rows as R[], numAffectedRows: BigInt(changes), insertId: BigInt(insertId) };
  }

  streamQuery(): never {
    throw new Error('the write lane has no cursors');
  }

  async beginTransaction(): Promise<void> {
    await this.#writer.query('begin immediate', []);
  }

  async commitTransaction(): Promise<void> {
    this.#written = await this.#writer.finish(this.#last);
  }

  async rollbackTransaction(): Promise<void> {
    await this.#writer.rollback();
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this;
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}
