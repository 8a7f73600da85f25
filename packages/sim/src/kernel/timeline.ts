import type { Clock, Timer } from '@muster/base';

/** One operating system process: it can die, stand still, and be wrong about the time. */
export class Process {
  readonly name: string;
  readonly clock: Clock;
  alive = true;
  frozenUntil = 0;
  /** What its wall clock is ahead of the true time, in milliseconds. */
  skewMs = 0;
  /** Timers that are set. */
  timers = 0;

  constructor(name: string, timeline: Timeline) {
    this.name = name;
    this.clock = {
      now: () => Math.floor(timeline.now + this.skewMs),
      monotonic: () => timeline.now,
      after: (delayMs, work): Timer => {
        this.timers += 1;
        let pending = true;
        const done = (): void => {
          if (!pending) return;
          pending = false;
          this.timers -= 1;
        };
        const event = timeline.after(delayMs, this, () => {
          done();
          work();
        });
        return {
          cancel: () => {
            done();
            event.cancelled = true;
          },
        };
      },
    };
  }

  /** Nothing of it runs any more. */
  die(): void {
    this.alive = false;
  }
}

export interface Happening {
  at: number;
  readonly due: number;
  readonly made: number;
  /** In which process it happens; null: in the world. */
  readonly process: Process | null;
  readonly work: () => void;
  cancelled: boolean;
}

/** The only time there is: what is to happen, in order of its time and then of its making. */
export class Timeline {
  now: number = Date.UTC(2012, 8, 16);
  #made = 0;
  readonly #heap: Happening[] = [];

  after(delayMs: number, process: Process | null, work: () => void): Happening {
    const at = this.now + Math.max(0, Number.isNaN(delayMs) ? 0 : delayMs);
    const happening: Happening = { at, due: at, made: this.#made++, process, work, cancelled: false };
    this.#push(happening);
    return happening;
  }

  /** Lets the next thing happen; false when there is none before `until`. */
  step(until: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until) {
        this.now = Math.max(this.now, until);
        return false;
      }
      this.#pop();
      const { process } = next;
      if (next.cancelled || process?.alive === false) continue;
      if (process !== null && process.frozenUntil > next.at) {
        // What came while it stood still is waiting for it, in the old order.
        next.at = process.frozenUntil;
        this.#push(next);
        continue;
      }
      this.now = next.at;
      next.work();
      return true;
    }
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let index = heap.push(happening) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(happening, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = happening;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      let best = heap[child];
      if (best === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && before(right, best)) {
        best = right;
        child += 1;
      }
      if (!before(best, last)) break;
      heap[index] = best;
      index = child;
    }
    heap[index] = last;
  }
}

function before(one: Happening, other: Happening): boolean {
  if (one.at !== other.at) return one.at < other.at;
  if (one.due !== other.due) return one.due < other.due;
  return one.made < other.made;
}
