import type { TextAttributes } from '../text.js';
import { appended } from './append.js';
import type { SharedCondition } from './conditions.js';
import type { Clause } from './tree.js';

/** All subscribers of one expression. */
export interface Group<T, D = undefined> {
  /** Changed in place, except while events are visited: an array got then stays as it is until the visit ends. */
  readonly subscribers: readonly T[];
  /** For the user of the index, and undefined until set. Lives as long as the group has subscribers. */
  data: D | undefined;
}

/** One subscription. */
export interface Entry<T, D = undefined> {
  readonly group: Group<T, D>;
  readonly subscriber: T;
}

/** A place in the group, which changes as others leave. */
export interface Member<T, D> extends Entry<T, D> {
  readonly group: SharedGroup<T, D>;
  /** -1 once removed. */
  position: number;
}

const NO_CLAUSES: readonly never[] = [];
const NOBODY: never[] = [];

/** Two dense arrays in step, so that joining and leaving take one step and visiting touches subscribers only. */
export class SharedGroup<T, D> implements Group<T, D> {
  readonly conditions: readonly SharedCondition[];
  /** Equal for equal expressions. */
  readonly key: string;
  data: D | undefined = undefined;
  /** Where it is indexed: clauses, or a position among the unindexed. */
  clauses: readonly Clause<SharedGroup<T, D>>[] = NO_CLAUSES;
  position = -1;
  /** The last search that evaluated the expression: several of its clauses may be found by one event. */
  searched = 0;
  #subscribers: T[] = NOBODY;
  #members: Member<T, D>[] = NOBODY;
  /** The visit during which the array of subscribers was last copied. */
  #copied = 0;

  constructor(conditions: readonly SharedCondition[], key: string) {
    this.conditions = conditions;
    this.key = key;
  }

  get subscribers(): readonly T[] {
    return this.#subscribers;
  }

  /** `search`: the number of this search, other than all before. */
  matches(event: TextAttributes, search: number): boolean {
    for (const condition of this.conditions) if (!condition.matches(event, search)) return false;
    return true;
  }

  /** `visit`: the number of the visit that is going on, or 0. */
  join(subscriber: T, visit: number): Member<T, D> {
    this.#own(visit);
    const member = { group: this, subscriber, position: this.#members.length };
    this.#subscribers = appended(this.#subscribers, subscriber);
    this.#members = appended(this.#members, member);
    return member;
  }

  leave(member: Member<T, D>, visit: number): void {
    this.#own(visit);
    const last = this.#members.pop();
    this.#subscribers.pop();
    if (last !== undefined && last !== member) {
      this.#members[member.position] = last;
      this.#subscribers[member.position] = last.subscriber;
      last.position = member.position;
    }
    member.position = -1;
  }

  /** Whoever goes through the subscribers goes on through those there were. */
  #own(visit: number): void {
    if (visit === 0 || visit === this.#copied) return;
    this.#subscribers = this.#subscribers.slice();
    this.#copied = visit;
  }
}
