import type { Expression } from '../expression.js';
import type { TextAttributes } from '../text.js';
import { Conditions, type SharedCondition } from './conditions.js';
import { type Entry, type Group, type Member, SharedGroup } from './group.js';
import { conjunction } from './pins.js';
import { Bucket, Clause, type Search } from './tree.js';

export interface IndexStats {
  readonly subscriptions: number;
  /** Different ones; equal expressions are evaluated once. */
  readonly expressions: number;
  /** Expressions evaluated only on events that have what they ask for. */
  readonly indexed: number;
  /** Expressions evaluated on every event: those that may be true of any, such as the empty one, and `a IS NULL`. */
  readonly unindexed: number;
}

/**
 * Subscriptions by selector: finds those an event is for without evaluating the others. What it finds is exactly what
 * evaluating each would find, in no particular order.
 *
 * Equal expressions (AND of conditions that print the same, in any order) share a group. Matching allocates nothing; adding and removing take
 * amortized constant time in the number of subscriptions.
 */
export class SelectorIndex<T, D = undefined> {
  readonly #groups = new Map<string, SharedGroup<T, D>>();
  readonly #conditions = new Conditions();
  readonly #root = new Bucket<SharedGroup<T, D>>(null, null);
  readonly #unindexed: SharedGroup<T, D>[] = [];
  #size = 0;
  readonly #search = new GroupSearch<T, D>();
  /** What a match found; null while a visit uses it. */
  #spare: SharedGroup<T, D>[] | null = [];
  /** Counts visits of groups. */
  #visits = 0;
  /** The visit going on, or 0. */
  #visiting = 0;

  /** Subscriptions. */
  get size(): number {
    return this.#size;
  }

  /** The same subscriber may be added any number of times, and is then visited as often. */
  add(expression: Expression, subscriber: T): Entry<T, D> {
    const conditions = this.#conditions.of(expression);
    const key = keyOf(conditions);
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = new SharedGroup<T, D>(conditions, key);
      this.#conditions.hold(conditions);
      this.#groups.set(key, group);
      this.#index(group);
    }
    this.#size += 1;
    return group.join(subscriber, this.#visiting);
  }

  /** Removing what is removed already does nothing. */
  remove(entry: Entry<T, D>): void {
    // There are no other entries than those that join() made.
    const member = entry as Member<T, D>;
    if (member.position < 0) return;
    const { group } = member;
    group.leave(member, this.#visiting);
    this.#size -= 1;
    if (group.subscribers.length > 0) return;
    this.#groups.delete(group.key);
    this.#conditions.release(group.conditions);
    this.#unindex(group);
  }

  /**
   * Visits the subscriber of every subscription that the event is for. Subscriptions may be added and removed, and other
   * events matched, while visiting: who is added is not visited, who is removed still may be.
   */
  match(event: TextAttributes, visit: (subscriber: T) => void): void {
    this.#visit(event, visitSubscribers, visit);
  }

  /** The same by expression: visits every group that the event is for, each once. */
  matchGroups(event: TextAttributes, visit: (group: Group<T, D>) => void): void {
    this.#visit(event, visitGroup, visit);
  }

  stats(): IndexStats {
    const expressions = this.#groups.size;
    const unindexed = this.#unindexed.length;
    return { subscriptions: this.#size, expressions, indexed: expressions - unindexed, unindexed };
  }

  #visit<Visit>(event: TextAttributes, each: (group: Group<T, D>, visit: Visit) => void, visit: Visit): void {
    const found = this.#spare ?? [];
    this.#spare = null;
    const outer = this.#visiting;
    try {
      this.#find(event, found);
      for (const group of found) {
        if (group.subscribers.length === 0) continue;
        this.#visits += 1;
        this.#visiting = this.#visits;
        each(group, visit);
      }
    } finally {
      this.#visiting = outer;
      found.length = 0;
      this.#spare = found;
    }
  }

  #find(event: TextAttributes, found: SharedGroup<T, D>[]): void {
    const search = this.#search;
    search.begin(event, found);
    for (const group of this.#unindexed) search.found(group);
    this.#root.visit(search);
    search.end();
  }

  #index(group: SharedGroup<T, D>): void {
    const clauses = conjunction(group.conditions.map((condition) => condition.clauses));
    if (clauses.some((pins) => pins.length === 0)) {
      group.position = this.#unindexed.length;
      this.#unindexed.push(group);
      return;
    }
    group.clauses = clauses.map((pins) => new Clause(group, pins));
    for (const clause of group.clauses) this.#root.add(clause);
  }

  #unindex(group: SharedGroup<T, D>): void {
    for (const clause of group.clauses) clause.remove();
    if (group.position < 0) return;
    const last = this.#unindexed.pop();
    if (last === undefined || last === group) return;
    this.#unindexed[group.position] = last;
    last.position = group.position;
  }
}

/** The same whatever the order of the conditions. */
function keyOf(conditions: readonly SharedCondition[]): string {
  return conditions
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join();
}

function visitSubscribers<T, D>({ subscribers }: Group<T, D>, visit: (subscriber: T) => void): void {
  for (const subscriber of subscribers) visit(subscriber);
}

function visitGroup<T, D>(group: Group<T, D>, visit: (group: Group<T, D>) => void): void {
  visit(group);
}

const NOTHING: TextAttributes = { get: () => undefined };

/** One for all events, because making one would cost as much as matching. Evaluates each expression once. */
class GroupSearch<T, D> implements Search<SharedGroup<T, D>> {
  event: TextAttributes = NOTHING;
  #found: SharedGroup<T, D>[] = [];
  #number = 0;

  begin(event: TextAttributes, found: SharedGroup<T, D>[]): void {
    this.event = event;
    this.#found = found;
    this.#number += 1;
  }

  found(group: SharedGroup<T, D>): void {
    if (group.searched === this.#number) return;
    group.searched = this.#number;
    if (group.matches(this.event, this.#number)) this.#found.push(group);
  }

  /** Keeps no event alive. */
  end(): void {
    this.event = NOTHING;
  }
}
