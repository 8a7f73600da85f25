import type { Clock } from '@muster/base';
import Database from 'better-sqlite3';
import type { Transaction } from 'kysely';
import { bounded } from './bounded.js';
import type { Batch, Lane, Outcome } from './lane.js';
import type { Limits } from './limits.js';
import type { Schema } from './schema.js';
import type { Place, SqlBatch } from './sqlite-connection.js';
import { ThreadLost } from './sqlite-thread-writer.js';
import { SqliteTransaction } from './sqlite-transaction.js';
import type { SqliteWriter } from './sqlite-writer.js';
import { sqliteText } from './statements.js';
import type { SqlValue, Statement, Write } from './types.js';

/** After these the same transaction may succeed: the disk, another process or the machine was at fault. */
const PASSING = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|NOMEM|READONLY|PROTOCOL|INTERRUPT|CORRUPT|NOTADB)/;
/** A flush has failed. What the disk has is unknown from then on: asking again would get a lie for an answer. */
const NOT_FLUSHED = 'SQLITE_IOERR_FSYNC';

const PROBE = `insert into commit_marker (lane, seq, at) values ('probe', ?, ?)
  on conflict (lane) do update set seq = excluded.seq, at = excluded.at`;

interface Prepared {
  readonly text: string;
  readonly columns: readonly string[];
}

/** Transactions for SQLite, one after the other. */
export class SqliteLane implements Lane {
  readonly #writer: SqliteWriter;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #lost: (error: unknown) => void;
  readonly #prepared = new Map<string, Prepared>();
  /** Why nobody can say what is stored. */
  #failure: { readonly error: unknown } | null = null;

  /** @param lost Told when nobody can say any more what is stored: the process should end, and read it. */
  constructor(writer: SqliteWriter, limits: Limits, clock: Clock, lost: (error: unknown) => void) {
    this.#writer = writer;
    this.#limits = limits;
    this.#clock = clock;
    this.#lost = lost;
  }

  async write(_id: number, batch: Batch): Promise<Outcome> {
    let places: readonly Place[] = [];
    const written = this.#writer.write(batch.map(({ statement, rows }) => this.#listed(statement, rows)));
    const outcome = await this.#attempt(
      written.then((failed) => {
        places = failed;
      }),
    );
    if (outcome.kind !== 'stored' || places.length === 0) return outcome;
    return { kind: 'guarded', failed: places.flatMap((place) => guardAt(batch, place)) };
  }

  async probe(id: number): Promise<Outcome> {
    return this.#attempt(this.#writer.write([{ text: PROBE, rows: [[id, this.#clock.now()]] }]).then(() => undefined));
  }

  async transact(_id: number, work: (trx: Transaction<Schema>) => Promise<void>): Promise<Outcome> {
    const transaction = new SqliteTransaction(this.#writer);
    const done = transaction
      .kysely()
      .transaction()
      .execute(async (trx) => {
        await bounded(this.#clock, work(trx), this.#limits.transactMs, 'the transaction').finally(() =>
          transaction.end(),
        );
      });
    return this.#attempt(done);
  }

  /** Asked after a flush that failed: a local COMMIT that fails has failed. */
  async outcome(): Promise<Outcome> {
    return {
      kind: 'unknown',
      error: this.#failure?.error ?? new Error('the outcome of every commit is known'),
      forGood: true,
    };
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }

  async #attempt(work: Promise<void>): Promise<Outcome> {
    try {
      await work;
      return { kind: 'stored' };
    } catch (error) {
      const sqlite = error instanceof Database.SqliteError;
      if (error instanceof ThreadLost || (sqlite && error.code === NOT_FLUSHED)) {
        this.#failure = { error };
        this.#lost(error);
        return { kind: 'unknown', error, forGood: true };
      }
      return { kind: sqlite && PASSING.test(error.code) ? 'failed' : 'refused', error };
    }
  }

  #listed(statement: Statement, rows: Batch[number]['rows']): SqlBatch[number] {
    const { text, columns } = this.#prepare(statement);
    const values = rows.map((row) => columns.map((column) => alone(row[column] ?? null)));
    const { kind } = statement;
    return { text, rows: values, guard: kind === 'guard' || kind === 'absent' ? kind : undefined };
  }

  #prepare(statement: Statement): Prepared {
    let prepared = this.#prepared.get(statement.name);
    if (prepared === undefined) {
      prepared = { text: sqliteText(statement), columns: Object.keys(statement.columns) };
      this.#prepared.set(statement.name, prepared);
    }
    return prepared;
  }
}

function guardAt(batch: Batch, [index, position]: Place): readonly Write[] {
  const statement = batch[index]?.statement;
  const row = batch[index]?.rows[position];
  return statement === undefined || row === undefined ? [] : [{ statement, row }];
}

/** Bytes without their neighbours, which would go to the thread with them. */
function alone(value: SqlValue): SqlValue {
  return value instanceof Uint8Array && value.byteLength < value.buffer.byteLength ? new Uint8Array(value) : value;
}
