import { printable, shortened } from './printable.js';

export type Cell = string | number | null | undefined;

/** Paints a cell after its width is known, so that colours never disturb the columns. */
export type Paint = (text: string, column: number, row: number) => string;

/** A column that is cut to the terminal keeps at least so many characters. */
const LEAST_CHARACTERS = 10;

/**
 * Lines of a table: a heading and one line per row, columns two spaces apart, no trailing blanks.
 * Absent values are shown as `-`. With `width`, the last column is cut so that lines are no longer, where that is possible.
 */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint = (text) => text,
  width = Number.POSITIVE_INFINITY,
): string[] {
  const cells = rows.map((row) => headings.map((_, column) => cellText(row[column])));
  const widths = headings.map((heading, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), heading.length),
  );
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0);
  const most = Math.max(LEAST_CHARACTERS, width - before);
  const layOut = (row: readonly string[], index: number | null): string =>
    row
      .map((whole, column) => {
        const last = column === row.length - 1;
        const text = last ? shortened(whole, most) : whole;
        const shown = index === null ? text : paint(text, column, index);
        return last ? shown : shown + ' '.repeat((widths[column] ?? 0) - text.length + 2);
      })
      .join('')
      .trimEnd();
  return [layOut(headings, null), ...cells.map((row, index) => layOut(row, index))];
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-';
  return printable(String(cell));
}
