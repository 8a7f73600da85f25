import { setImmediate } from 'node:timers/promises';
import type { Schema } from '@muster/store';
import type { Json } from '@muster/wire';
import type { Kysely } from 'kysely';
import { wholeTasks } from '../repository/reads.js';
import type { TaskRow } from '../repository/writes.js';
import { candidates, type Order } from '../search/scan.js';
import type { Condition } from './filter/condition.js';
import { matches, order, sortValue } from './filter/match.js';
import { type Narrowing, narrow } from './filter/narrow.js';
import { DISBATCH_LIMITS } from './limits.js';
import { countTasks } from './reads.js';
import { Refusal } from './refusal.js';
import { matchedDocument } from './task-document.js';

export interface SortKey {
  readonly path: readonly string[];
  readonly direction: 1 | -1;
}

export interface SearchOptions {
  /** Undefined: all. */
  readonly limit: number | undefined;
  readonly skip: number;
  /** None: in the order in which they were added. */
  readonly sort: readonly SortKey[];
}

/** Looks through the tasks of one organization, a page at a time. */
export class TaskSearch {
  readonly #read: Kysely<Schema>;
  readonly #orgId: string;
  readonly #condition: Condition;
  readonly #narrowing: Narrowing;

  constructor(read: Kysely<Schema>, orgId: string, condition: Condition) {
    this.#read = read;
    this.#orgId = orgId;
    this.#condition = condition;
    this.#narrowing = narrow(condition);
  }

  /** @throws Refusal when too many tasks would have to be looked at. */
  async count(): Promise<number> {
    if (this.#narrowing.whole) return countTasks(this.#read, this.#orgId, this.#narrowing);
    let count = 0;
    for await (const _ of this.#found('asc')) count++;
    return count;
  }

  /** @throws Refusal when too many tasks would have to be looked at, or shown. */
  async rows({ limit, skip, sort }: SearchOptions): Promise<readonly TaskRow[]> {
    const [key, ...others] = sort;
    if (key === undefined) return this.#inOrder('asc', limit, skip);
    const byId = key.path.length === 1 && key.path[0] === '_id';
    // Ids differ, so that what follows decides nothing.
    if (byId) return this.#inOrder(key.direction === 1 ? 'asc' : 'desc', limit, skip);
    return this.#sorted([key, ...others], limit, skip);
  }

  async #inOrder(direction: 'asc' | 'desc', limit: number | undefined, skip: number): Promise<readonly TaskRow[]> {
    const rows: TaskRow[] = [];
    if (limit === 0) return rows;
    const size = new AnswerSize();
    let passed = 0;
    for await (const row of this.#found(direction)) {
      if (passed++ < skip) continue;
      size.add(row);
      rows.push(row);
      if (rows.length === limit) break;
    }
    return rows;
  }

  /** Keeps of all that fit only what they are sorted by. */
  async #sorted(sort: readonly SortKey[], limit: number | undefined, skip: number): Promise<readonly TaskRow[]> {
    const found: { id: string; values: (Json | undefined)[] }[] = [];
    for await (const row of this.#found('asc')) {
      if (found.length === DISBATCH_LIMITS.sorted) {
        throw new Refusal(`more than ${DISBATCH_LIMITS.sorted} tasks to sort: narrow the filter, or sort by _id`);
      }
      const document = matchedDocument(row);
      found.push({ id: row.id, values: sort.map(({ path }) => sortable(sortValue(document, path))) });
    }
    found.sort((left, right) => {
      for (const [index, { direction }] of sort.entries()) {
        const which = order(left.values[index], right.values[index]) * direction;
        if (which !== 0) return which;
      }
      return left.id < right.id ? -1 : 1;
    });
    const wanted = found.slice(skip, limit === undefined ? undefined : skip + limit).map(({ id }) => id);
    return this.#byId(wanted);
  }

  async #byId(ids: readonly string[]): Promise<readonly TaskRow[]> {
    const rows: TaskRow[] = [];
    const size = new AnswerSize();
    for (let from = 0; from < ids.length; from += DISBATCH_LIMITS.page) {
      const some = ids.slice(from, from + DISBATCH_LIMITS.page);
      const byId = new Map((await wholeTasks(this.#read, this.#orgId, some)).map((row) => [row.id, row]));
      for (const id of some) {
        const row = byId.get(id);
        if (row === undefined) continue;
        size.add(row);
        rows.push(row);
      }
    }
    return rows;
  }

  async *#found(order: Order): AsyncGenerator<TaskRow> {
    const [first, last] = order === 'asc' ? (['after', 'before'] as const) : (['before', 'after'] as const);
    const place = { after: this.#narrowing[first] ?? null, order };
    const end = this.#narrowing[last];
    let scanned = 0;
    for await (const ids of portionsOf(candidates(this.#read, lookedUp(this.#narrowing), place))) {
      const rows = new Map((await wholeTasks(this.#read, this.#orgId, ids)).map((row) => [row.id, row]));
      for (const id of ids) {
        if (end !== undefined && (order === 'asc' ? id >= end : id <= end)) return;
        const row = rows.get(id);
        if (row !== undefined && matches(this.#condition, matchedDocument(row))) yield row;
      }
      scanned += ids.length;
      if (scanned >= DISBATCH_LIMITS.scanned) {
        throw new Refusal(
          `the filter looks through more than ${DISBATCH_LIMITS.scanned} tasks: narrow it by queue, status or _id`,
        );
      }
      // SQLite answers at once: others must have their turns.
      await setImmediate();
    }
  }
}

/** As much of a value as is kept to sort by it: objects and lists are all alike. */
function sortable(value: Json | undefined): Json | undefined {
  if (typeof value === 'string') return value.slice(0, SORTED_CHARACTERS);
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? [] : {};
}

const SORTED_CHARACTERS = 1_000;

async function* portionsOf(ids: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let portion: string[] = [];
  for await (const id of ids) {
    portion.push(id);
    if (portion.length < DISBATCH_LIMITS.page) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

/** What indexes are gone through for. */
function lookedUp({ queues, ids, statuses, leastStatus, mostStatus }: Narrowing): Parameters<typeof candidates>[1] {
  const from = leastStatus ?? Number.MIN_SAFE_INTEGER;
  const to = mostStatus ?? Number.MAX_SAFE_INTEGER;
  const ranges = statuses?.filter((one) => one >= from && one <= to).map((one) => ({ from: one, to: one }));
  const any = leastStatus === undefined && mostStatus === undefined;
  return { queues: queues ?? null, ids: ids ?? null, statuses: ranges ?? (any ? null : [{ from, to }]) };
}

/** Documents of one answer: it is whole or refused. */
class AnswerSize {
  #left: number = DISBATCH_LIMITS.answerBytes;

  /** @throws Refusal */
  add({ params }: TaskRow): void {
    this.#left -= params.length;
    if (this.#left < 0) throw new Refusal('the answer would be too large: ask for fewer tasks (limit, skip)');
  }
}
