import { TASK_LIMITS } from '../limits.js';
import type { TaskState } from '../machine.js';
import type { QueueSort } from '../types.js';

/** A task that may be assigned now. */
export interface ReadyTask {
  readonly id: string;
  readonly rank: number;
  readonly lane: string;
  readonly ctime: number;
  readonly requester: string;
  readonly state: TaskState;
  /** JSON; null: so long that it is read when it is needed. */
  readonly params: string | null;
  /** What was said of it instead of what the queue says. */
  readonly retries: number | null;
  readonly timeout: number | null;
  readonly expiresAt: number | null;
  /** What its plugin finds secrets as that the task itself names; null: none. */
  readonly secrets: readonly string[] | null;
}

/** The place of a task in its lane. */
export type Place = Pick<ReadyTask, 'rank' | 'id'>;

/** So many that were taken are let go of together. */
const TAKEN_KEPT = 256;

/** Tasks of one key of a queue (of one without keys: all), in the order in which they are assigned. */
export class Lane {
  readonly name: string;
  readonly #sort: QueueSort;
  /** The next one at `#head`; those before it were taken. Most are put behind all others, which moves none of them. */
  #tasks: ReadyTask[] = [];
  #head = 0;
  readonly #ids = new Set<string>();
  /** There is none in the store that is not here. */
  #complete: boolean;
  /** Otherwise: all up to this place are here; null: none is known to be. */
  #boundary: Place | null = null;
  /** The next ones are being read; those that are offered meanwhile. */
  #offered: ReadyTask[] | null = null;

  constructor(name: string, sort: QueueSort, complete: boolean) {
    this.name = name;
    this.#sort = sort;
    this.#complete = complete;
  }

  get complete(): boolean {
    return this.#complete;
  }

  get size(): number {
    return this.#tasks.length - this.#head;
  }

  get filling(): boolean {
    return this.#offered !== null;
  }

  /** There may be more than is here, and what is here is not much. */
  get low(): boolean {
    return !this.#complete && !this.filling && this.size < TASK_LIMITS.windowLow;
  }

  take(): ReadyTask | undefined {
    const task = this.#tasks[this.#head];
    if (task === undefined) return undefined;
    this.#ids.delete(task.id);
    this.#head += 1;
    if (this.#head >= TAKEN_KEPT) this.#dropTaken();
    return task;
  }

  remove(id: string): void {
    this.#offered = this.#offered?.filter((task) => task.id !== id) ?? null;
    if (!this.#ids.delete(id)) return;
    this.#dropTaken();
    this.#tasks = this.#tasks.filter((task) => task.id !== id);
  }

  #dropTaken(): void {
    this.#tasks = this.#tasks.slice(this.#head);
    this.#head = 0;
  }

  /** One that is ready, and stored. Left to be read in its turn when it is beyond what has been read. */
  offer(task: ReadyTask): void {
    if (this.#offered !== null) {
      this.#offered.push(task);
      return;
    }
    if (this.#ids.has(task.id)) return;
    if (!this.#complete && (this.#boundary === null || this.#before(this.#boundary, task))) return;
    this.#insert(task);
    if (this.size > TASK_LIMITS.window) {
      const dropped = this.#tasks.pop();
      if (dropped !== undefined) this.#ids.delete(dropped.id);
      this.#complete = false;
      this.#boundary = this.#tasks.at(-1) ?? null;
    }
  }

  /** The next ones are read from behind this place on; null: from the beginning. */
  beginFill(): Place | null {
    this.#offered = [];
    return this.#boundary;
  }

  /** @param to All that are in the store up to this place were read; null: all that there are. */
  endFill(read: readonly ReadyTask[], to: Place | null): void {
    const offered = this.#offered ?? [];
    this.#offered = null;
    for (const task of read) if (!this.#ids.has(task.id)) this.#insert(task);
    this.#complete = to === null;
    this.#boundary = to;
    for (const task of offered) this.offer(task);
  }

  /** The read failed; it is tried again when tasks are wanted. */
  abandonFill(): void {
    const offered = this.#offered ?? [];
    this.#offered = null;
    for (const task of offered) this.offer(task);
  }

  #insert(task: ReadyTask): void {
    this.#ids.add(task.id);
    let low = this.#head;
    let high = this.#tasks.length;
    const last = this.#tasks.at(-1);
    if (low < high && last !== undefined && this.#before(last, task)) low = high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#tasks[middle];
      if (other !== undefined && this.#before(other, task)) low = middle + 1;
      else high = middle;
    }
    if (low === this.#tasks.length) this.#tasks.push(task);
    else if (low === this.#head && low > 0) {
      this.#head -= 1;
      this.#tasks[this.#head] = task;
    } else this.#tasks.splice(low, 0, task);
  }

  /** Is `a` assigned before `b`? */
  #before(a: Place, b: Place): boolean {
    if (a.rank !== b.rank) return a.rank < b.rank;
    return this.#sort === 'lifo' ? a.id > b.id : a.id < b.id;
  }
}
