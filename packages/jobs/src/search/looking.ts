import { conforms } from '../apps/validators.js';
import { MusterError } from '../errors.js';
import type { Look } from './conditions.js';

/** Rows that one search looks at when the database cannot tell which are meant. */
const MOST_EXAMINED = 50_000;
const ROWS_AT_ONCE = 1000;

interface Looking<Row> {
  /** In the order of the search. */
  readonly page: (limit: number, offset: number) => Promise<readonly Row[]>;
  readonly meant: (row: Row) => boolean;
  /** Query parameter on account of which rows are looked at. */
  readonly because: string;
}

/**
 * Those rows of a search that are meant, `limit` of them after `offset`.
 * @throws MusterError `job_search_too_wide`
 */
export async function lookThrough<Row>(
  { page, meant, because }: Looking<Row>,
  limit: number,
  offset: number,
): Promise<readonly Row[]> {
  const found: Row[] = [];
  const wanted = offset + limit;
  for (let examined = 0; found.length < wanted; examined += ROWS_AT_ONCE) {
    if (examined >= MOST_EXAMINED)
      throw new MusterError('job_search_too_wide', { field: because, limit: MOST_EXAMINED });
    const rows = await page(ROWS_AT_ONCE, examined);
    found.push(...rows.filter(meant));
    if (rows.length < ROWS_AT_ONCE) break;
  }
  return found.slice(offset, wanted);
}

/** Whether what is looked for is somewhere in what the row has there. */
export function hasPattern({ column, pattern }: Look, row: Readonly<Record<string, unknown>>): boolean {
  return row[column] != null && conforms(`(?s).*(?:${pattern}).*`, String(row[column]));
}
