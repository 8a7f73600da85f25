import { type Attributes, compileSearch } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import { queueSubject } from '../events.js';
import { STATUS_NAMES, type StatusName, statusName } from '../status.js';
import type { Queue } from '../types.js';
import { Lane, type Place, type ReadyTask } from './lane.js';
import { Rate } from './rate.js';

/** Which nodes a queue's selectors let in. */
export type NodeFilter = (attributes: Attributes) => boolean;

/** Seconds of which it is remembered how many tasks ended in them. */
const MINUTE = 60;

/** One of its tasks that a node has. */
export interface Running {
  readonly lane: string;
}

/** A queue at work: what it has, what runs, and what may come next. */
export class LiveQueue {
  readonly org: Organization;
  /** Of its events. */
  readonly subject: string;
  readonly counts: Record<StatusName, number>;
  readonly active = new Set<Running>();
  /** Grows with each assignment, the slower the greater its weight: the queue with the least is next. */
  pass = 0;
  /** Counts the changes that decide which nodes it may use. */
  version = 0;
  removed = false;
  #queue: Queue;
  #filter: NodeFilter;
  #rate: Rate | null = null;
  readonly #lanes = new Map<string, Lane>();
  /** Names of lanes of which a task may be assigned, in turn. */
  readonly #open = new Set<string>();
  readonly #activeOf = new Map<string, number>();
  readonly #ended = new Array<number>(MINUTE).fill(0);
  #second = 0;

  /**
   * @param at Monotonic milliseconds.
   * @param known It was at work before this server began, which cannot tell how much of its rate is used up: all of it.
   */
  constructor(org: Organization, queue: Queue, at: number, known = false) {
    this.org = org;
    this.subject = queueSubject(queue.id);
    this.counts = Object.fromEntries(STATUS_NAMES.map((name) => [name, 0])) as Record<StatusName, number>;
    this.#queue = queue;
    this.#filter = filterOf(queue);
    this.#setRate(at, known);
  }

  get queue(): Queue {
    return this.#queue;
  }

  get filter(): NodeFilter {
    return this.#filter;
  }

  get id(): string {
    return this.#queue.id;
  }

  /** @param at Monotonic milliseconds. */
  change(queue: Queue, at: number): void {
    const before = this.#queue;
    this.#queue = queue;
    this.#filter = filterOf(queue);
    this.version += 1;
    if (JSON.stringify(before.rules.rate) !== JSON.stringify(queue.rules.rate)) this.#setRate(at);
    if (before.rules.sort !== queue.rules.sort) this.#startLanesAnew();
    for (const lane of this.#lanes.values()) this.#judge(lane);
  }

  #setRate(at: number, usedUp = false): void {
    const { rate } = this.#queue.rules;
    this.#rate = rate && new Rate(rate, at, usedUp);
  }

  #startLanesAnew(): void {
    for (const name of this.#lanes.keys()) this.#lanes.set(name, new Lane(name, this.#queue.rules.sort, false));
    this.#open.clear();
  }

  // --- what waits

  /** @param complete Of a lane that is not known yet: nothing of it is in the store. */
  lane(name: string, complete: boolean): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane(name, this.#queue.rules.sort, complete);
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  /** A task is ready, and stored. */
  offer(task: ReadyTask): Lane {
    const lane = this.lane(task.lane, true);
    lane.offer(task);
    this.#judge(lane);
    return lane;
  }

  /** It is not to be assigned now. */
  withdraw(id: string, lane: string): void {
    const its = this.#lanes.get(lane);
    its?.remove(id);
    if (its !== undefined) this.#judge(its);
  }

  /** @param to See `Lane.endFill`. */
  filled(lane: Lane, read: readonly ReadyTask[], to: Place | null): void {
    // It may have been begun anew meanwhile.
    if (this.#lanes.get(lane.name) !== lane) return;
    lane.endFill(read, to);
    this.#judge(lane);
  }

  /** Lanes of which more should be read. */
  *low(): Iterable<Lane> {
    for (const lane of this.#lanes.values()) if (lane.low) yield lane;
  }

  /** The next task, of each lane in turn; undefined: there is none. */
  take(): ReadyTask | undefined {
    const { value: name } = this.#open.values().next();
    const lane = name === undefined ? undefined : this.#lanes.get(name);
    if (lane === undefined) return undefined;
    // Judged again when it has become active.
    this.#open.delete(lane.name);
    this.#rate?.take();
    return lane.take();
  }

  /** Is there something that could be assigned, were there a node? */
  get waiting(): boolean {
    return this.#open.size > 0;
  }

  /** Why nothing of it may be assigned now; null: nothing is against it. @param at Monotonic milliseconds. */
  obstacle(at: number): 'paused' | 'threads' | 'rate' | null {
    const { state, threads } = this.#queue;
    if (state === 'paused') return 'paused';
    if (threads !== null && this.active.size >= threads) return 'threads';
    return this.rateWaitMs(at) > 0 ? 'rate' : null;
  }

  /** Milliseconds until its rate lets another one through. */
  rateWaitMs(at: number): number {
    return this.#rate?.waitMs(at) ?? 0;
  }

  // --- what runs

  begin(task: Running): void {
    this.active.add(task);
    this.#activeOf.set(task.lane, this.activeOf(task.lane) + 1);
    // One that is not there yet has nothing waiting: those that have are read at the start.
    this.#judge(this.lane(task.lane, true));
  }

  end(task: Running): void {
    if (!this.active.delete(task)) return;
    const left = this.activeOf(task.lane) - 1;
    if (left > 0) this.#activeOf.set(task.lane, left);
    else this.#activeOf.delete(task.lane);
    const lane = this.#lanes.get(task.lane);
    if (lane !== undefined) this.#judge(lane);
  }

  activeOf(lane: string): number {
    return this.#activeOf.get(lane) ?? 0;
  }

  /** Is a key at its limit? */
  full(lane: string): boolean {
    const { key } = this.#queue.rules;
    return key !== null && lane !== '' && this.activeOf(lane) >= key.limit;
  }

  /** Does something wait only because its key is at its limit? */
  get waitsForKeys(): boolean {
    for (const lane of this.#lanes.values()) if (lane.size > 0 && this.full(lane.name)) return true;
    return false;
  }

  #judge(lane: Lane): void {
    if (lane.size > 0 && !this.full(lane.name)) this.#open.add(lane.name);
    else this.#open.delete(lane.name);
    // Nothing is left of its key.
    if (lane.size === 0 && lane.complete && !lane.filling && lane.name !== '' && this.activeOf(lane.name) === 0) {
      this.#lanes.delete(lane.name);
    }
  }

  // --- what is counted

  /** Tasks changed their status; null: they were not there before, or are not any more. */
  moved(from: number | null, to: number | null, tasks = 1): void {
    if (from !== null) this.counts[statusName(from)] -= tasks;
    if (to !== null) this.counts[statusName(to)] += tasks;
  }

  /** @param at Monotonic milliseconds. */
  countEnded(at: number): void {
    this.#forgetOld(at);
    const slot = this.#second % MINUTE;
    this.#ended[slot] = (this.#ended[slot] ?? 0) + 1;
  }

  /** @param at Monotonic milliseconds. */
  endedLastMinute(at: number): number {
    this.#forgetOld(at);
    return this.#ended.reduce((sum, count) => sum + count, 0);
  }

  #forgetOld(at: number): void {
    const now = Math.floor(at / 1000);
    const gone = Math.min(now - this.#second, MINUTE);
    for (let back = 0; back < gone; back++) this.#ended[(now - back) % MINUTE] = 0;
    if (gone > 0) this.#second = now;
  }
}

/** Which nodes the selectors of the queue let in. */
function filterOf({ rules: { nodes, ignoreNodes } }: Queue): NodeFilter {
  const wanted = nodes === null ? () => true : compileSearch(nodes);
  const ignored = ignoreNodes === null ? () => false : compileSearch(ignoreNodes);
  return (attributes) => wanted(attributes) && !ignored(attributes);
}
