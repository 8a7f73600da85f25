/** A JSON document a line. */
export function linesOf(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** As spreadsheets take it (RFC 4180): a column for each name that a row has, in the order in which they come up. */
export function csvOf(rows: readonly object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => names.map((name) => cell((row as Readonly<Record<string, unknown>>)[name])));
  return [names.map(cell), ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** What a spreadsheet would take for a formula is told apart from one: names and outputs are other people's. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
