/** Time as the rest of the code sees it, so that tests and the simulator move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `work` once after `delayMs`. */
  after(delayMs: number, work: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Longest delay that setTimeout takes; later timers are re-armed. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, work) {
    let handle: NodeJS.Timeout;
    const arm = (remaining: number): void => {
      handle = setTimeout(
        () => (remaining > MAX_DELAY_MS ? arm(remaining - MAX_DELAY_MS) : work()),
        Math.min(Math.max(remaining, 0), MAX_DELAY_MS),
      );
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** A clock that stands still until it is moved. Timers fire in time order, then in the order they were made. */
export class ManualClock implements Clock {
  #now: number;
  #made = 0;
  #timers: { at: number; made: number; work: () => void }[] = [];

  constructor(startMs = Date.UTC(2012, 8, 16)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, work: () => void): Timer {
    const timer = { at: this.#now + Math.max(delayMs, 0), made: this.#made++, work };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves time forward by `ms`, firing what falls due on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.made - b.made)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.work();
    }
    this.#now = end;
  }

  get pending(): number {
    return this.#timers.length;
  }
}
