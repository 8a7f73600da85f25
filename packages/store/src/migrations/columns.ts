import { sql } from 'kysely';
import type { Dialect } from './types.js';

/** `name TYPE [not null]` for each column; a name that ends with `?` may be null. */
export function columns(type: Dialect['text'], names: readonly string[]) {
  return sql.join(
    names.map((name) =>
      name.endsWith('?') ? sql`${sql.id(name.slice(0, -1))} ${type}` : sql`${sql.id(name)} ${type} not null`,
    ),
  );
}
