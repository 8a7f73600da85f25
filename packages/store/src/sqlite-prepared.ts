import type Database from 'better-sqlite3';

/** Statements of Kysely differ by the length of their lists; those of a busy server's requests are fewer than this. */
const MOST = 500;

/** What a connection has prepared, by text: those that were used last. Preparing a short read takes longer than running it. */
export class Prepared {
  readonly #db: Database.Database;
  readonly #most: number;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();

  constructor(db: Database.Database, most = MOST) {
    this.#db = db;
    this.#most = most;
  }

  get size(): number {
    return this.#statements.size;
  }

  get(text: string): Database.Statement<unknown[]> {
    const known = this.#statements.get(text);
    const statement = known ?? this.#db.prepare<unknown[]>(text);
    // The map keeps them in the order of their last use.
    if (known !== undefined) this.#statements.delete(text);
    this.#statements.set(text, statement);
    for (const oldest of this.#statements.keys()) {
      if (this.#statements.size <= this.#most) break;
      this.#statements.delete(oldest);
    }
    return statement;
  }
}
