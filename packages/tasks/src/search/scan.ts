import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { allIds, type IdPage, idsOfStatus, queuesWithTasks, statusesOf } from '../repository/reads.js';
import type { Narrowing } from './narrowing.js';

type Read = Kysely<Schema>;

/** Ids read at once from one index. */
const IDS_AT_ONCE = 1000;
/** Most lanes of queue and status that are read side by side; beyond it, all tasks are gone through. */
const MOST_LANES = 64;
const EVERY_STATUS = [{ from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }];

export type Order = IdPage['order'];

export interface Place {
  /** Exclusive; null: from the beginning. */
  readonly after: string | null;
  readonly order: Order;
}

/**
 * Ids of tasks that a search may mean, in order: by the index of queue and status, where the search names one of them
 * and they are few, else all there are, also of other organizations.
 */
export async function* candidates(
  read: Read,
  { queues, statuses, ids }: Narrowing,
  place: Place,
): AsyncGenerator<string> {
  if (ids !== null) {
    yield* inOrder(ids, place);
    return;
  }
  const lanes = queues === null && statuses === null ? null : await lanesOf(read, queues, statuses);
  if (lanes === null) yield* new Lane((page) => allIds(read, page), place).all();
  else
    yield* merged(
      lanes.map(([queue, status]) => new Lane((page) => idsOfStatus(read, queue, status, page), place)),
      place.order,
    );
}

function inOrder(ids: readonly string[], { after, order }: Place): string[] {
  const sorted = [...new Set(ids)].sort();
  if (order === 'desc') sorted.reverse();
  return after === null ? sorted : sorted.filter((id) => comesBefore(after, id, order));
}

function comesBefore(a: string, b: string, order: Order): boolean {
  return order === 'asc' ? a < b : a > b;
}

async function lanesOf(
  read: Read,
  queues: Narrowing['queues'],
  statuses: Narrowing['statuses'],
): Promise<(readonly [string, number])[] | null> {
  const names = queues ?? (await queuesWithTasks(read, MOST_LANES));
  if (names === null || names.length > MOST_LANES) return null;
  const lanes: (readonly [string, number])[] = [];
  for (const queue of names) {
    const found = await statusesOf(read, queue, statuses ?? EVERY_STATUS);
    if (found === null || lanes.length + found.length > MOST_LANES) return null;
    for (const status of found) lanes.push([queue, status]);
  }
  return lanes;
}

/** One index, read a page at a time. */
class Lane {
  readonly #page: (page: IdPage) => Promise<string[]>;
  readonly #order: Order;
  #after: string | null;
  #ids: string[] = [];
  #at = 0;
  #ended = false;

  constructor(page: (page: IdPage) => Promise<string[]>, { after, order }: Place) {
    this.#page = page;
    this.#after = after;
    this.#order = order;
  }

  /** The next id, which stays the next until it is taken; null: there is none any more. */
  async peek(): Promise<string | null> {
    if (this.#at === this.#ids.length && !this.#ended) {
      this.#ids = await this.#page({ after: this.#after, order: this.#order, limit: IDS_AT_ONCE });
      this.#at = 0;
      this.#ended = this.#ids.length < IDS_AT_ONCE;
    }
    return this.#ids[this.#at] ?? null;
  }

  take(): void {
    this.#after = this.#ids[this.#at] ?? this.#after;
    this.#at += 1;
  }

  async *all(): AsyncGenerator<string> {
    for (let id = await this.peek(); id !== null; id = await this.peek()) {
      this.take();
      yield id;
    }
  }
}

/** Of all lanes together the next one at a time. A task that changes its lane meanwhile may not come at all. */
async function* merged(lanes: readonly Lane[], order: Order): AsyncGenerator<string> {
  let last: string | null = null;
  for (;;) {
    let next: { readonly lane: Lane; readonly id: string } | null = null;
    for (const lane of lanes) {
      const id = await lane.peek();
      if (id !== null && (next === null || comesBefore(id, next.id, order))) next = { lane, id };
    }
    if (next === null) return;
    next.lane.take();
    // It was in another lane before.
    if (next.id === last) continue;
    last = next.id;
    yield next.id;
  }
}
