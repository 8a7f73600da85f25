import type { Row } from './lane.js';
import type { Statement, Write } from './types.js';

/** NUL cannot occur in a value (`statements.ts` replaces it), so joined values are unambiguous. */
const SEPARATOR = '\0';

/** Equal for rows of the same key. Of each write there is one: nothing is made for it but the text. */
export function keyOf(columns: readonly string[], row: Row): string {
  let key = '';
  for (const column of columns) key += `${SEPARATOR}${row[column]}`;
  return key;
}

/** A guard did not hold: nothing of the part is stored. Whoever handed it in acted on what is no longer so. */
export class GuardFailed extends Error {
  override readonly name = 'GuardFailed';
  /** The guards that did not hold. */
  readonly failed: readonly Write[];

  constructor(failed: readonly Write[]) {
    const tables = [...new Set(failed.map(({ statement }) => statement.table))];
    super(`not stored: what is in ${tables.join(', ')} is not what was expected`);
    this.failed = failed;
  }
}

export function isGuard({ kind }: Statement): boolean {
  return kind === 'guard' || kind === 'absent';
}

/** Equal for guards that ask the same. */
export function identityOf({ statement, row }: Write): string {
  // Not joined: nothing at all and an empty text are not the same.
  return JSON.stringify([statement.name, ...Object.keys(statement.columns).map((column) => row[column])]);
}

const NONE: readonly Write[] = [];

/** Most parts have none. */
export function guardsOf(writes: readonly Write[]): readonly Write[] {
  return writes.some(({ statement }) => isGuard(statement))
    ? writes.filter(({ statement }) => isGuard(statement))
    : NONE;
}

/**
 * What the parts of one transaction write, as far as guards ask for it. All guards of a transaction are looked at before
 * anything is written: a part whose guard asks for a row that an earlier part writes belongs in the next transaction.
 */
export class WrittenRows {
  readonly #parts: (readonly Write[])[] = [];
  /** By the name of the statement of a guard: there are few. */
  readonly #keys = new Map<string, WrittenKeys>();

  add(writes: readonly Write[]): void {
    this.#parts.push(writes);
    for (const keys of this.#keys.values()) keys.add(writes);
  }

  concern(guards: readonly Write[]): boolean {
    return guards.some(({ statement, row }) => this.#keysFor(statement).has(row));
  }

  #keysFor(statement: Statement): WrittenKeys {
    let keys = this.#keys.get(statement.name);
    if (keys === undefined) {
      keys = new WrittenKeys(statement);
      for (const writes of this.#parts) keys.add(writes);
      this.#keys.set(statement.name, keys);
    }
    return keys;
  }
}

/** Which rows of one table are written, by the key of a guard. */
class WrittenKeys {
  readonly #guard: Statement;
  readonly #keys = new Set<string>();
  /** A row whose key is not known here was written: it may be any. */
  #any = false;

  constructor(guard: Statement) {
    this.#guard = guard;
  }

  add(writes: readonly Write[]): void {
    for (const { statement, row } of writes) {
      if (statement.table !== this.#guard.table || isGuard(statement)) continue;
      if (this.#guard.key.every((column) => row[column] !== undefined)) this.#keys.add(keyOf(this.#guard.key, row));
      else this.#any = true;
    }
  }

  has(row: Row): boolean {
    return this.#any || this.#keys.has(keyOf(this.#guard.key, row));
  }
}
