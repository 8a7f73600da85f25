import type { Batch, Row } from './lane.js';
import type { Statement, Write } from './types.js';

/** NUL cannot occur in a value (`statements.ts` replaces it), so joined keys are unambiguous. */
const SEPARATOR = '\0';

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

interface Gathered {
  readonly statement: Statement;
  /** Upserts by key: the last write of a key wins. PostgreSQL refuses to update a row twice in one statement. */
  readonly byKey: Map<string, Row>;
  readonly rows: Row[];
}

/** Makes one transaction of what several callers handed in. */
export function gather(parts: Iterable<readonly Write[]>): Batch {
  const statements = new Map<string, Gathered>();
  for (const writes of parts) {
    for (const { statement, row } of writes) {
      let gathered = statements.get(statement.name);
      if (gathered === undefined) {
        gathered = { statement, byKey: new Map(), rows: [] };
        statements.set(statement.name, gathered);
      }
      if (statement.kind === 'insert') gathered.rows.push(row);
      else gathered.byKey.set(statement.key.map((column) => row[column]).join(SEPARATOR), row);
    }
  }
  return [...statements.values()].map(({ statement, byKey, rows }) => ({
    statement,
    rows: statement.kind === 'upsert' ? [...byKey.values()] : (statement.merge?.rows(rows) ?? rows),
  }));
}
