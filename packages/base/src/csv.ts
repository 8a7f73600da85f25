/** A cell that begins so is a formula to spreadsheets (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r\n]/;

/**
 * A record, with its line end, as RFC 4180 has it. Text is somebody else's: where a spreadsheet would take it for a formula, an
 * apostrophe stands before it.
 */
export function csvLine(fields: readonly (string | number | boolean)[]): string {
  return `${fields.map(cellOf).join(',')}\r\n`;
}

function cellOf(field: string | number | boolean): string {
  const text = typeof field === 'string' && FORMULA.test(field) ? `'${field}` : String(field);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
