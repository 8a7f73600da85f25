import { type Clock, systemClock } from '@muster/base';
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { bounded, TookTooLong } from './bounded.js';
import { MusterError } from './errors.js';
import { GuardFailed, isGuard } from './guards.js';
import type { Batch, BatchStatement, Lane, Outcome } from './lane.js';
import type { Limits } from './limits.js';
import { postgresDialect } from './migrations/dialects.js';
import { migrate } from './migrations/index.js';
import type { Migrations } from './migrations/types.js';
import { arrayLiteral } from './postgres-arrays.js';
import { GOODBYE_MS, isConflict, isLasting, poolOf, Session } from './postgres-session.js';
import type { Schema } from './schema.js';
import { postgresNumberedText, postgresText } from './statements.js';
import type { ClusterAccess, Statement } from './types.js';

/** Advisory locks of a database: 'Must', and which. */
const LOCKS = 0x4d757374;
const EXCLUSIVE_LOCK = 1;
const MIGRATION_LOCK = 2;
/**
 * No row can be locked that is not there: transactions of several servers that ask for the absence of rows follow each other. It is
 * the first that any of them locks, so that nobody waits in a circle.
 */
const ABSENCE_LOCK = 3;
/** Markers of servers that are long gone. */
const MARKER_KEPT_MS = 30 * 86_400_000;

/**
 * What is written is found by its key. PostgreSQL takes many keys at once for a reason to read all of a table, which costs each
 * commit the more the longer the table is.
 */
const BY_KEY = 'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off';

export interface PostgresLaneOptions {
  readonly url: string;
  /** Name of this process's lane in `commit_marker`: hex digits. */
  readonly name: string;
  readonly exclusive: boolean;
  readonly cluster?: ClusterAccess | undefined;
  readonly migrations: readonly Migrations[];
  readonly limits: Limits;
  readonly clock: Clock;
}

/** Somebody else acts in the place of this process: it stores nothing any more. */
class FencedOff extends Error {
  constructor() {
    super('another server of the cluster has taken over');
  }
}

/** How many rows the last of several statements changed: the driver answers one result for each. */
function marked(results: unknown): number {
  const all = Array.isArray(results) ? results : [results];
  return (all.at(-1) as pg.QueryResult).rowCount ?? 0;
}

/** @param last What was answered to the last that was inserted, which gives the numbers of a batch that takes some. */
function firstNumber(batch: Batch, last: pg.QueryResult | undefined): number {
  return batch.at(-1)?.numbers === undefined ? 0 : last?.rows[0].first;
}

interface Guards {
  readonly queries: readonly pg.QueryConfig[];
  /** @throws GuardFailed */
  check(answers: readonly pg.QueryResult[]): void;
}

interface Connected {
  readonly session: Session;
  readonly db: Kysely<Schema>;
}

/**
 * The one connection that writes; made again after it is lost.
 *
 * A connection lost during COMMIT leaves open whether the transaction was stored. Therefore each transaction
 * also writes its number into this lane's row of `commit_marker`. Reading that row with a lock first waits for
 * the old session to end its transaction, one way or the other; then the number tells, and a batch is never
 * stored twice, nor a caller told "not stored" of what was. The numbers that a transaction is given are noted there,
 * too.
 *
 * The session also holds the lock that keeps other servers away, so a transaction can only be written while the
 * lock is held.
 */
export class PostgresLane implements Lane {
  readonly #options: PostgresLaneOptions;
  readonly #texts = new Map<string, { readonly name: string; readonly text: string }>();
  #connected: Connected | null = null;

  private constructor(options: PostgresLaneOptions) {
    this.#options = options;
  }

  /** @throws MusterError `database_in_use`, `schema_too_new`; and the driver's errors */
  static async open(options: PostgresLaneOptions): Promise<PostgresLane> {
    const lane = new PostgresLane(options);
    const session = await lane.#session();
    try {
      await lane.#migrate(session);
      lane.#connected = await lane.#ready(session);
    } catch (error) {
      await session.end();
      throw error;
    }
    return lane;
  }

  async write(id: number, batch: Batch): Promise<Outcome> {
    return this.#attempt(async ({ session }, committing) => {
      const asksAbsence = batch.some(({ statement }) => statement.kind === 'absent');
      const lock = asksAbsence ? `select pg_advisory_xact_lock(${LOCKS}, ${ABSENCE_LOCK}); ` : '';
      const guards = this.#guards(batch);
      try {
        const [begun, ...checked] = await session.all([`begin; ${lock}${this.#mark(id)}`, ...guards.queries]);
        this.#checkFence(marked(begun));
        guards.check(checked);
        committing();
        // What cannot be stored makes a rollback of it.
        const inserts = this.#inserts(batch);
        const answers = await session.all([...inserts, 'commit']);
        return firstNumber(batch, answers[inserts.length - 1]);
      } catch (error) {
        if (!session.lost) await session.query('rollback');
        throw error;
      }
    });
  }

  async transact(id: number, work: (trx: Transaction<Schema>) => Promise<Batch>): Promise<Outcome> {
    const { clock, limits } = this.#options;
    let numbered = false;
    return this.#attempt(async ({ session, db }, committing) => {
      let thrown: { readonly error: unknown } | undefined;
      const transaction = db.transaction().setIsolationLevel('serializable');
      const run = transaction.execute(async (trx) => {
        try {
          // Known after a conflict, of which a counter that other servers advance is a likely cause. What a transaction
          // sees is fixed by its first statement, but for this one, which waits until nobody else can advance it.
          if (numbered) await sql`lock table counters in share row exclusive mode`.execute(trx);
          const batch = await bounded(clock, work(trx), limits.transactMs, 'the transaction');
          numbered = batch.some(({ numbers }) => numbers !== undefined);
          // After the callback, so that it fails when that swallowed an error: COMMIT would quietly roll back.
          const { numAffectedRows = 0n } = await sql.raw(this.#mark(id)).execute(trx);
          this.#checkFence(Number(numAffectedRows));
          const first = await this.#store(session, batch);
          committing();
          return first;
        } catch (error) {
          thrown = { error };
          // Its last query may still be running: nothing else can go over this connection.
          if (error instanceof TookTooLong) await session.end();
          throw error;
        }
      });
      return run.catch((error) => {
        throw thrown === undefined ? error : thrown.error;
      });
    });
  }

  async probe(id: number): Promise<Outcome> {
    return this.write(id, []);
  }

  async outcome(id: number): Promise<Outcome> {
    try {
      const { session } = await this.#connection();
      const { rows } = await session.query('select seq, first from commit_marker where lane = $1 for update', [
        this.#options.name,
      ]);
      const marker: { readonly seq: number; readonly first: number } | undefined = rows[0];
      if (marker !== undefined && marker.seq >= id) return { kind: 'stored', first: marker.first };
      return { kind: 'failed', error: new Error('the connection to the database was lost') };
    } catch (error) {
      return { kind: 'unknown', error };
    }
  }

  /** PostgreSQL does not answer: what is under way ends as with a connection that was lost. */
  cut(): void {
    this.#connected?.session.drop();
  }

  async close(): Promise<void> {
    const connected = this.#connected;
    this.#connected = null;
    if (connected === null) return;
    const { session } = connected;
    if (!session.lost) {
      // What is left of it goes after a while: it is not worth waiting for a PostgreSQL that hangs.
      const swept = session.query('delete from commit_marker where lane = $1', [this.#options.name]);
      await bounded(systemClock, swept, GOODBYE_MS, 'the last statement').catch(() => session.drop());
    }
    await session.end();
  }

  /**
   * Runs `work` on the connection, again after conflicts with other servers, and says how it ended. `work` answers the
   * first of the numbers that the transaction was given.
   */
  async #attempt(work: (connected: Connected, committing: () => void) => Promise<number>): Promise<Outcome> {
    for (let attempt = 1; ; attempt++) {
      let connected: Connected;
      try {
        connected = await this.#connection();
      } catch (error) {
        return { kind: 'failed', error };
      }
      let committing = false;
      try {
        const first = await work(connected, () => {
          committing = true;
        });
        return { kind: 'stored', first };
      } catch (error) {
        if (connected.session.lost) {
          await this.#drop();
          if (error instanceof TookTooLong) return { kind: 'refused', error };
          return { kind: committing ? 'unknown' : 'failed', error };
        }
        if (error instanceof FencedOff) {
          this.#options.cluster?.lost();
          return { kind: 'failed', error };
        }
        if (error instanceof GuardFailed) return { kind: 'guarded', failed: error.failed };
        if (isConflict(error) && attempt < this.#options.limits.conflictAttempts) continue;
        // What a callback threw is its own affair; of the server's errors only some are the statement's.
        const passing = error instanceof pg.DatabaseError && !isLasting(error);
        return { kind: passing ? 'failed' : 'refused', error };
      }
    }
  }

  /** Marks no row when the process has been fenced off: with the look at the fence it costs one statement. */
  #mark(id: number): string {
    const { name, clock, cluster } = this.#options;
    const mark = `update commit_marker set seq = ${id}, first = 0, at = ${clock.now()} where lane = '${name}'`;
    const fence = cluster?.fence ?? null;
    if (fence === null) return mark;
    // Locked, so that whoever takes over waits for the end of what this process is storing.
    const held = `select 1 from leases where name = ${pg.escapeLiteral(fence.name)}
      and holder = ${pg.escapeLiteral(fence.holder)} and epoch = ${Number(fence.epoch)} for share`;
    return `with held as (${held}) ${mark} and exists (select 1 from held)`;
  }

  /** @throws FencedOff */
  #checkFence(rows: number): void {
    if (rows === 0 && (this.#options.cluster?.fence ?? null) !== null) throw new FencedOff();
  }

  /** Within a transaction. Answers the first of the numbers that it is given. @throws GuardFailed */
  async #store(session: Session, batch: Batch): Promise<number> {
    const guards = this.#guards(batch);
    guards.check(await session.all(guards.queries));
    const answers = await session.all(this.#inserts(batch));
    return firstNumber(batch, answers.at(-1));
  }

  /** They lock what they ask for, up to the end of the transaction. */
  #guards(batch: Batch): Guards {
    const guards = batch.filter(({ statement }) => isGuard(statement));
    return {
      queries: guards.map((written) => this.#query(written)),
      check(answers) {
        const failed = guards.flatMap(({ statement, rows }, index) => {
          const fits = new Set(answers[index]?.rows.map((row: { n: number }) => row.n));
          const holds = (at: number) => fits.has(at + 1) === (statement.kind === 'guard');
          return rows.filter((_, at) => !holds(at)).map((row) => ({ statement, row }));
        });
        if (failed.length > 0) throw new GuardFailed(failed);
      },
    };
  }

  /** In their order. */
  #inserts(batch: Batch): readonly pg.QueryConfig[] {
    const { chunkRows } = this.#options.limits;
    return batch
      .filter(({ statement }) => !isGuard(statement))
      .flatMap((written) => {
        const { rows, numbers } = written;
        if (numbers !== undefined) return [this.#query(written)];
        const starts = Array.from({ length: Math.ceil(rows.length / chunkRows) }, (_, chunk) => chunk * chunkRows);
        return starts.map((start) => this.#query({ ...written, rows: rows.slice(start, start + chunkRows) }));
      });
  }

  #query({ statement, rows, numbers }: BatchStatement): pg.QueryConfig {
    const values = Object.entries(statement.columns).map(([name, type]) => arrayLiteral(type, name, rows));
    return { ...this.#prepared(statement), values: numbers === undefined ? values : [...values, numbers] };
  }

  #prepared(statement: Statement): { readonly name: string; readonly text: string } {
    let prepared = this.#texts.get(statement.name);
    if (prepared === undefined) {
      const { merge } = statement;
      const text =
        merge === undefined ? postgresText(statement) : postgresNumberedText(statement, merge, this.#options.name);
      prepared = { name: `muster_${this.#texts.size}`, text };
      this.#texts.set(statement.name, prepared);
    }
    return prepared;
  }

  async #connection(): Promise<Connected> {
    if (this.#connected?.session.lost) await this.#drop();
    if (this.#connected !== null) return this.#connected;
    const session = await this.#session();
    try {
      this.#connected = await this.#ready(session);
      return this.#connected;
    } catch (error) {
      await session.end();
      throw error;
    }
  }

  async #drop(): Promise<void> {
    const connected = this.#connected;
    this.#connected = null;
    await connected?.session.end();
  }

  /** A session that has the database for itself, or shares it with servers of its cluster alone, if it must. */
  async #session(): Promise<Session> {
    const { url, limits, exclusive, cluster } = this.#options;
    const session = await Session.connect(url, limits);
    if (!exclusive && cluster === undefined) return session;
    try {
      const lock = cluster === undefined ? 'pg_advisory_lock' : 'pg_advisory_lock_shared';
      await session.query(`set lock_timeout = ${limits.exclusiveMs}`);
      await session.query(`select ${lock}(${LOCKS}, ${EXCLUSIVE_LOCK})`);
      return session;
    } catch (error) {
      await session.end();
      const held = error instanceof pg.DatabaseError && error.code === '55P03';
      throw held ? new MusterError('database_in_use', {}, { cause: error }) : error;
    }
  }

  async #migrate(session: Session): Promise<void> {
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: poolOf(session) }) });
    await session.query('set lock_timeout = 0');
    await db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(${sql.lit(LOCKS)}, ${sql.lit(MIGRATION_LOCK)})`.execute(trx);
      await migrate(trx, postgresDialect, this.#options.clock.now(), this.#options.migrations);
    });
  }

  async #ready(session: Session): Promise<Connected> {
    const { name, clock, limits } = this.#options;
    await session.query(`set lock_timeout = ${limits.busyMs}; ${BY_KEY}`);
    await session.query('delete from commit_marker where lane <> $1 and at < $2', [name, clock.now() - MARKER_KEPT_MS]);
    await session.query('insert into commit_marker (lane, seq, at) values ($1, 0, $2) on conflict (lane) do nothing', [
      name,
      clock.now(),
    ]);
    return { session, db: new Kysely<Schema>({ dialect: new PostgresDialect({ pool: poolOf(session) }) }) };
  }
}
