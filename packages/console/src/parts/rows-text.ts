import { csvLine } from '@muster/base/csv';

/** A JSON document a line. */
export function linesOf(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** As spreadsheets take it: a column for each name that a row has, in the order in which they come up. */
export function csvOf(rows: readonly object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => names.map((name) => cellOf((row as Readonly<Record<string, unknown>>)[name])));
  return [names, ...lines].map(csvLine).join('');
}

function cellOf(value: unknown): string | number | boolean {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : JSON.stringify(value);
}
