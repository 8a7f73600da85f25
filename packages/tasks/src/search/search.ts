import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { type ListedTask, tasksById } from '../repository/reads.js';
import type { SearchedQueue } from './attributes.js';
import type { TaskQuery } from './query.js';
import { candidates, type Place } from './scan.js';

type Read = Kysely<Schema>;

/** Rows read at once: each may have parameters of a quarter of a megabyte. */
const ROWS_AT_ONCE = 100;
/** Characters of parameters in one page; a page with more ends early. */
const MOST_TEXT = 4_000_000;
/** Rows that one request looks at, and characters of their parameters. */
export const MOST_EXAMINED = 50_000;
const MOST_READ = 64_000_000;

export interface SearchDeps {
  readonly read: Read;
  /** Of the organization, by id. */
  readonly queueOf: (id: string) => SearchedQueue | undefined;
}

export interface SearchPage extends Place {
  readonly limit: number;
  /** Rows looked at; `MOST_EXAMINED` unless given. */
  readonly examine?: number;
  /** Id of the last task that may be found, in ascending order; null: there is none such. */
  readonly until?: string | null;
}

export interface FoundTasks {
  readonly rows: readonly ListedTask[];
  /** Where to go on: there may be more. Null: this is all. */
  readonly next: string | null;
}

/** Tasks that match, in the order of their ids; at most so many rows are looked at, so that an answer may be short, or empty, and yet not the last. */
export async function searchTasks(
  deps: SearchDeps,
  orgId: string,
  query: TaskQuery,
  page: SearchPage,
): Promise<FoundTasks> {
  const rows: ListedTask[] = [];
  let text = 0;
  const next = await walk(deps, orgId, query, page, (row) => {
    rows.push(row);
    text += row.params.length;
    return rows.length < page.limit && text < MOST_TEXT;
  });
  return { rows, next };
}

export interface CountedTasks {
  readonly count: number;
  /** Ids of the first of them. */
  readonly sample: readonly string[];
  /** Id of the last of them; null: there is none. */
  readonly last: string | null;
  readonly next: string | null;
}

/** How many match; the same bounds. `seen` is told of each. */
export async function countTasks(
  deps: SearchDeps,
  orgId: string,
  query: TaskQuery,
  place: Omit<SearchPage, 'limit'> & { readonly sample?: number; readonly seen?: (row: ListedTask) => void },
): Promise<CountedTasks> {
  const { sample: most = 0, seen } = place;
  let count = 0;
  let last: string | null = null;
  const sample: string[] = [];
  const next = await walk(deps, orgId, query, place, (row) => {
    count += 1;
    last = row.id;
    if (sample.length < most) sample.push(row.id);
    seen?.(row);
    return true;
  });
  return { count, sample, last, next };
}

/** Answers where to go on; null: at the end. `found` answers whether it wants more. */
async function walk(
  { read, queueOf }: SearchDeps,
  orgId: string,
  { narrowing, matches }: TaskQuery,
  { after, order, examine = MOST_EXAMINED, until = null }: Omit<SearchPage, 'limit'>,
  found: (row: ListedTask) => boolean,
): Promise<string | null> {
  const ids = candidates(read, narrowing, { after, order });
  try {
    for (let examined = 0, characters = 0; ; ) {
      const batch: string[] = [];
      while (batch.length < Math.min(ROWS_AT_ONCE, examine - examined)) {
        const { value, done } = await ids.next();
        if (done === true) break;
        batch.push(value);
      }
      const rows = new Map((await tasksById(read, orgId, batch)).map((row) => [row.id, row]));
      for (const [index, id] of batch.entries()) {
        if (until !== null && id > until) return null;
        const row = rows.get(id);
        characters += row?.params.length ?? 0;
        if (row === undefined || !matches({ row, queue: queueOf(row.queue_id) })) continue;
        if (found(row)) continue;
        // Enough: the last one of all, or is there another?
        return index + 1 < batch.length || (await ids.next()).done !== true ? id : null;
      }
      examined += batch.length;
      const last = batch.at(-1);
      if (last === undefined) return null;
      if (examined >= examine || characters >= MOST_READ) return (await ids.next()).done === true ? null : last;
    }
  } finally {
    await ids.return(undefined);
  }
}
