import type { Insertable } from 'kysely';
import { isGuard } from './guards.js';
import type { Schema } from './schema.js';
import type { ColumnType, Merge, SqlValue, Statement, Write } from './types.js';

type Table = keyof Schema;

type ColumnTypeOf<V> = [Exclude<V, null | undefined>] extends [string]
  ? 'text'
  : [Exclude<V, null | undefined>] extends [number]
    ? 'integer'
    : 'bytes';

/** Columns of `T` with the types they must be declared with. */
export type ColumnsOf<T extends Table> = {
  readonly [K in keyof Insertable<Schema[T]> & string]?: ColumnTypeOf<Insertable<Schema[T]>[K]>;
};

/** Makes a column that the table does not have a type error. */
type Only<T extends Table, C> = C & Readonly<Record<Exclude<keyof C, keyof ColumnsOf<T>>, never>>;

/** A row that gives every declared column. */
export type RowOf<T extends Table, C extends ColumnsOf<T>> = {
  readonly [K in keyof C & keyof Insertable<Schema[T]>]-?: Insertable<Schema[T]>[K];
};

/**
 * PostgreSQL cannot hold NUL in text and SQLite cuts it off in many tools, and nodes may send anything: it is
 * stored as U+FFFD, as bytes that are not UTF-8 are.
 */
function storable(value: SqlValue): SqlValue {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
}

function writer(statement: Statement): (row: object) => Write {
  const columns = Object.keys(statement.columns);
  // A copy has room for all columns from the beginning.
  const empty: Readonly<Record<string, SqlValue>> = Object.fromEntries(columns.map((column) => [column, null]));
  return (given) => {
    const values = given as Readonly<Record<string, SqlValue | undefined>>;
    const row: Record<string, SqlValue> = { ...empty };
    for (const column of columns) row[column] = storable(values[column] ?? null);
    return { statement, row };
  };
}

function nameOf(kind: string, table: string, columns: object, key: readonly string[]): string {
  return `${kind} ${table} (${Object.keys(columns).join(',')}) by (${key.join(',')})`;
}

/**
 * Inserts the row, or replaces the declared columns of the row with this key. Columns that are left out must
 * have a default: both databases check NOT NULL before they notice that the row exists.
 */
export function upsert<T extends Table, const C extends ColumnsOf<T>>(
  table: T,
  columns: Only<T, C>,
  key: readonly (keyof C & string)[],
): (row: RowOf<T, C>) => Write {
  return writer({
    name: nameOf('upsert', table, columns, key),
    table,
    kind: 'upsert',
    columns: columns as Readonly<Record<string, ColumnType>>,
    key,
  });
}

/**
 * Gives the declared columns of the row with this key these values. Where there is no such row nothing happens: so an epoch
 * or an attempt among the key keeps a former owner from changing anything. `first`: see `Statement`.
 */
export function update<T extends Table, const C extends ColumnsOf<T>>(
  table: T,
  columns: Only<T, C>,
  key: readonly (keyof C & string)[],
  { first = false }: Pick<Statement, 'first'> = {},
): (row: RowOf<T, C>) => Write {
  const types = columns as Readonly<Record<string, ColumnType>>;
  const others = Object.keys(types).filter((column) => !(key as readonly string[]).includes(column));
  return writer({
    name: nameOf('update', table, columns, key),
    table,
    kind: 'update',
    // The key last, as the text of SQLite has its holes.
    columns: Object.fromEntries([...others, ...key].map((column) => [column, types[column] ?? 'text'])),
    key,
    first,
  });
}

/**
 * Appends the row. With a `key` a row that exists is left as it is, so that stating a fact twice is harmless;
 * without one every write makes a row (and exactly one, also over a lost connection).
 */
export function insert<T extends Table, const C extends ColumnsOf<T>>(
  table: T,
  columns: Only<T, C>,
  key: readonly (keyof C & string)[] = [],
): (row: RowOf<T, C>) => Write {
  return writer({
    name: nameOf('insert', table, columns, key),
    table,
    kind: 'insert',
    columns: columns as Readonly<Record<string, ColumnType>>,
    key,
  });
}

/**
 * Appends rows that are made of all that one transaction hands in: `merge` turns it, in order, into rows of the table,
 * and gives it numbers. Texts in it must not hold NUL.
 */
export function append<T extends Table, const C extends ColumnsOf<T>>(
  table: T,
  columns: Only<T, C>,
  merge: Merge,
): (part: Write['row'], numbered?: Write['numbered']) => Write {
  const statement: Statement = {
    name: nameOf('append', table, columns, []),
    table,
    kind: 'insert',
    columns: columns as Readonly<Record<string, ColumnType>>,
    key: [],
    merge,
  };
  return (row, numbered) => ({ statement, row, numbered });
}

/**
 * Holds when the row with this key has these values. It is locked until the end of the transaction, so that nobody else
 * (another server) changes it meanwhile.
 */
export function guard<T extends Table, const C extends ColumnsOf<T>>(
  table: T,
  columns: Only<T, C>,
  key: readonly (keyof C & string)[],
): (row: RowOf<T, C>) => Write {
  return writer(condition('guard', table, columns as Readonly<Record<string, ColumnType>>, key));
}

/**
 * Holds when there is no row with this key. Nobody who asks the same makes one until the end of the transaction, in another server
 * either; of a part of `transact` alone a server may still: there insert the row without a key, so that one of the two is refused
 * (`isDuplicate`).
 */
export function absent<T extends Table, const C extends ColumnsOf<T>>(
  table: T,
  key: Only<T, C>,
): (row: RowOf<T, C>) => Write {
  return writer(condition('absent', table, key as Readonly<Record<string, ColumnType>>, Object.keys(key)));
}

function condition(
  kind: 'guard' | 'absent',
  table: Table,
  columns: Readonly<Record<string, ColumnType>>,
  key: readonly string[],
): Statement {
  return { name: nameOf(kind, table, columns, key), table, kind, columns, key };
}

function list(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

/** Columns that are not of the key. */
function rest({ columns, key }: Statement): string[] {
  return Object.keys(columns).filter((column) => !key.includes(column));
}

/** What precedes the rows. Names come from code only, never from input. */
function intoTable(statement: Statement): string {
  return `insert into "${statement.table}" (${list(Object.keys(statement.columns))})`;
}

/** What follows the rows: the same on both databases. */
function onConflict(statement: Statement): string {
  if (statement.key.length === 0) return '';
  const others = rest(statement);
  if (statement.kind === 'insert' || others.length === 0) return ` on conflict (${list(statement.key)}) do nothing`;
  const updates = others.map((column) => `"${column}" = excluded."${column}"`).join(', ');
  return ` on conflict (${list(statement.key)}) do update set ${updates}`;
}

/** One row per execution; of a guard, whether there is a row that fits. */
export function sqliteText(statement: Statement): string {
  if (isGuard(statement)) {
    const fits = Object.keys(statement.columns).map((column) => `"${column}" is ?`);
    return `select 1 from "${statement.table}" where ${fits.join(' and ')}`;
  }
  if (statement.kind === 'update') {
    const [set, key] = [rest(statement), statement.key].map((columns) => columns.map((column) => `"${column}" = ?`));
    return `update "${statement.table}" set ${set?.join(', ')} where ${key?.join(' and ')}`;
  }
  const holes = Object.keys(statement.columns).map(() => '?');
  return `${intoTable(statement)} values (${holes.join(', ')})${onConflict(statement)}`;
}

/** Takes so many numbers, and answers the last of them. Of a table that has none yet the counter is made. */
function counterText(table: string, count: string): string {
  return (
    `insert into counters as c (name, last) values ('${table}', ${count}) ` +
    'on conflict (name) do update set last = c.last + excluded.last returning last'
  );
}

export function sqliteCounterText({ table }: Statement): string {
  return counterText(table, '?');
}

const ARRAYS: Readonly<Record<ColumnType, string>> = { text: 'text[]', integer: 'bigint[]', bytes: 'bytea[]' };

/**
 * Any number of rows per execution: one array per column, so that the text never changes. Of guards, the numbers of
 * those for which there is a row that fits; rows are locked in the order of their keys, so that nobody waits in a circle.
 */
export function postgresText(statement: Statement): string {
  const arrays = Object.values(statement.columns).map((type, index) => `$${index + 1}::${ARRAYS[type]}`);
  if (isGuard(statement)) {
    const columns = Object.keys(statement.columns);
    const given = columns.map((_, index) => `c${index}`);
    const fits = columns.map((column, index) =>
      statement.key.includes(column) ? `t."${column}" = g.c${index}` : `t."${column}" is not distinct from g.c${index}`,
    );
    const order = statement.key.map((column) => `t."${column}"`).join(', ');
    const lock = statement.kind === 'guard' ? ` order by ${order} for update of t` : '';
    return (
      `select g.n from unnest(${arrays.join(', ')}) with ordinality as g(${given.join(', ')}, n) ` +
      `join "${statement.table}" as t on ${fits.join(' and ')}${lock}`
    );
  }
  if (statement.kind === 'update') {
    const given = Object.keys(statement.columns);
    const set = rest(statement).map((column) => `"${column}" = g."${column}"`);
    const where = statement.key.map((column) => `t."${column}" = g."${column}"`);
    return (
      `update "${statement.table}" as t set ${set.join(', ')} from unnest(${arrays.join(', ')}) ` +
      `as g(${list(given)}) where ${where.join(' and ')}`
    );
  }
  return `${intoTable(statement)} select * from unnest(${arrays.join(', ')})${onConflict(statement)}`;
}

/**
 * As `postgresText`, of a statement that gives numbers: takes as many as its last parameter says, notes the first of them
 * in the marker of the lane, and answers it. All in one statement: from its beginning to the end of the transaction every
 * other server waits for the counter.
 */
export function postgresNumberedText(statement: Statement, { numbered }: Merge, lane: string): string {
  const columns = Object.entries(statement.columns);
  const arrays = columns.map(([, type], index) => `$${index + 1}::${ARRAYS[type]}`);
  const given = columns.map((_, index) => `c${index}`);
  const values = columns.map(([name], index) => (numbered.includes(name) ? `given.first + c${index}` : `c${index}`));
  const count = `$${columns.length + 1}::bigint`;
  return (
    `with counted as (${counterText(statement.table, count)}), ` +
    `given as (select last - ${count} + 1 as first from counted), ` +
    `marked as (update commit_marker set first = given.first from given where lane = '${lane}'), ` +
    `stored as (${intoTable(statement)} ` +
    `select ${values.join(', ')} from given, unnest(${arrays.join(', ')}) as rows(${given.join(', ')})) ` +
    'select first from given'
  );
}
