import { printable } from './printable.js';

export type Cell = string | number | null | undefined;

/** Paints a cell after its width is known, so that colours never disturb the columns. */
export type Paint = (text: string, column: number) => string;

/**
 * Lines of a table: a heading and one line per row, columns two spaces apart, no trailing blanks.
 * Absent values are shown as `-`.
 */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint = (text) => text,
): string[] {
  const cells = rows.map((row) => headings.map((_, column) => cellText(row[column])));
  const widths = headings.map((heading, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), heading.length),
  );
  const layOut = (row: readonly string[], painted: boolean): string =>
    row
      .map((text, column) => {
        const shown = painted ? paint(text, column) : text;
        const last = column === row.length - 1;
        return last ? shown : shown + ' '.repeat((widths[column] ?? 0) - text.length + 2);
      })
      .join('')
      .trimEnd();
  return [layOut(headings, false), ...cells.map((row) => layOut(row, true))];
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-';
  return printable(String(cell));
}
