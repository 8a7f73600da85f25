import { identityOf, isGuard, keyOf } from './guards.js';
import type { Batch, BatchStatement, Row } from './lane.js';
import type { Statement, Write } from './types.js';

/** What a write weighs in memory and on the wire, roughly. */
export function weigh(writes: readonly Write[]): number {
  let bytes = 0;
  for (const { statement, row } of writes) {
    if (statement.merge !== undefined) {
      bytes += statement.merge.bytes(row);
      continue;
    }
    for (const column in row) {
      const value = row[column];
      bytes += typeof value === 'string' ? value.length : value instanceof Uint8Array ? value.byteLength : 8;
    }
  }
  return bytes;
}

/** How many numbers they take. */
export function numbersOf(writes: readonly Write[]): number {
  let count = 0;
  for (const { statement, row } of writes) count += statement.merge?.numbers(row) ?? 0;
  return count;
}

interface Gathered {
  readonly statement: Statement;
  /**
   * Upserts by key: the last write of a key wins. PostgreSQL refuses to update a row twice in one statement. Guards by
   * all that they ask: who owns much asks the same for all of it.
   */
  readonly byKey: Map<string, Row>;
  readonly rows: Row[];
}

/** Makes one transaction of what several callers handed in. */
export function gather(parts: Iterable<readonly Write[]>): Batch {
  const statements = new Map<string, Gathered>();
  for (const writes of parts) {
    for (const write of writes) {
      const { statement, row } = write;
      let gathered = statements.get(statement.name);
      if (gathered === undefined) {
        gathered = { statement, byKey: new Map(), rows: [] };
        statements.set(statement.name, gathered);
      }
      if (statement.kind === 'insert') gathered.rows.push(row);
      else if (isGuard(statement)) gathered.byKey.set(identityOf(write), row);
      else gathered.byKey.set(keyOf(statement.key, row), row);
    }
  }
  return [...statements.values()].sort((a, b) => turnOf(a) - turnOf(b)).map(batched);
}

/** See `Batch`. */
function turnOf({ statement }: Gathered): number {
  if (isGuard(statement)) return 0;
  if (statement.first === true) return 1;
  return statement.merge === undefined ? 2 : 3;
}

function batched({ statement, byKey, rows }: Gathered): BatchStatement {
  const { kind, merge } = statement;
  if (merge !== undefined) {
    const numbers = rows.reduce((count, row) => count + merge.numbers(row), 0);
    return { statement, rows: merge.rows(rows), numbers };
  }
  return { statement, rows: kind === 'insert' ? rows : [...byKey.values()] };
}
