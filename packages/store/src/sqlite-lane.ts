import type { Clock } from '@muster/base';
import Database from 'better-sqlite3';
import type { Transaction } from 'kysely';
import { bounded } from './bounded.js';
import type { Batch, BatchStatement, Lane, Outcome } from './lane.js';
import type { Limits } from './limits.js';
import type { Schema } from './schema.js';
import type { Place, SqlBatch, Written } from './sqlite-connection.js';
import { SqliteTransaction } from './sqlite-transaction.js';
import type { SqliteWriter } from './sqlite-writer.js';
import { ThreadLost } from './sqlite-writer-thread.js';
import { sqliteCounterText, sqliteText } from './statements.js';
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
  /** Those of bytes. */
  readonly bytes: readonly string[];
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
    return this.#attempt(async () => {
      const written = await this.#writer.write(this.#listed(batch));
      return { batch, written };
    });
  }

  async probe(id: number): Promise<Outcome> {
    return this.#attempt(async () => {
      const written = await this.#writer.write([{ text: PROBE, rows: [[id, this.#clock.now()]] }]);
      return { batch: [], written };
    });
  }

  async transact(_id: number, work: (trx: Transaction<Schema>) => Promise<Batch>): Promise<Outcome> {
    const transaction = new SqliteTransaction(this.#writer);
    const { transactMs } = this.#limits;
    return this.#attempt(async () => {
      const running = transaction.kysely().transaction();
      const batch = await running.execute(async (trx) => {
        const last = await bounded(this.#clock, work(trx), transactMs, 'the transaction').finally(() =>
          transaction.end(),
        );
        transaction.endWith(this.#listed(last));
        return last;
      });
      return { batch, written: transaction.written };
    });
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

  async #attempt(work: () => Promise<{ readonly batch: Batch; readonly written: Written }>): Promise<Outcome> {
    try {
      const { batch, written } = await work();
      const { failed, first } = written;
      if (failed.length > 0) return { kind: 'guarded', failed: failed.flatMap((place) => guardAt(batch, place)) };
      return { kind: 'stored', first };
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

  #listed(batch: Batch): SqlBatch {
    return batch.map((statement) => this.#listedStatement(statement));
  }

  #listedStatement({ statement, rows, numbers: count = 0 }: BatchStatement): SqlBatch[number] {
    const { text, columns, bytes } = this.#prepare(statement);
    const apart = new Apart(rows, bytes);
    const values = rows.map((row) => columns.map((column) => apart.of(row[column] ?? null)));
    const { kind, merge } = statement;
    return {
      text,
      rows: values,
      guard: kind === 'guard' || kind === 'absent' ? kind : undefined,
      numbers: merge && {
        text: sqliteCounterText(statement),
        count,
        places: merge.numbered.map((column) => columns.indexOf(column)),
      },
    };
  }

  #prepare(statement: Statement): Prepared {
    let prepared = this.#prepared.get(statement.name);
    if (prepared === undefined) {
      const columns = Object.keys(statement.columns);
      const bytes = columns.filter((column) => statement.columns[column] === 'bytes');
      prepared = { text: sqliteText(statement), columns, bytes };
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

/**
 * Bytes without their neighbours, which would go to the thread with them. All of a statement are in one piece of memory: to ask for
 * one for each row takes longer than everything else that is done with it here.
 */
class Apart {
  readonly #memory: Uint8Array;
  #used = 0;

  /** @param columns Those that may have bytes. */
  constructor(rows: BatchStatement['rows'], columns: readonly string[]) {
    let size = 0;
    for (const column of columns) for (const row of rows) size += sizeIfNeighbours(row[column]);
    this.#memory = Buffer.allocUnsafeSlow(size);
  }

  of(value: SqlValue): SqlValue {
    if (!hasNeighbours(value)) return value;
    const own = new Uint8Array(this.#memory.buffer, this.#used, value.byteLength);
    own.set(value);
    this.#used += value.byteLength;
    return own;
  }
}

function hasNeighbours(value: SqlValue | undefined): value is Uint8Array {
  return value instanceof Uint8Array && value.byteLength < value.buffer.byteLength;
}

function sizeIfNeighbours(value: SqlValue | undefined): number {
  return hasNeighbours(value) ? value.byteLength : 0;
}
