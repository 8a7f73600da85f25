/** Time as the rest of the code sees it, so that tests and the simulator move it. */
export interface Clock {
  /** Milliseconds since the epoch, as people have set it: forward or back at any moment. */
  now(): number;
  /** Milliseconds since some moment. Never set, so that the difference of two says how long it was. */
  monotonic(): number;
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
  monotonic: () => performance.now(),
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
  readonly #startMs: number;
  /** What it was set forward since. */
  #setMs = 0;
  #passedMs = 0;
  #made = 0;
  #timers: { at: number; made: number; work: () => void }[] = [];

  constructor(startMs = Date.UTC(2012, 8, 16)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#setMs + this.#passedMs;
  }

  monotonic(): number {
    return this.#passedMs;
  }

  after(delayMs: number, work: () => void): Timer {
    const timer = { at: this.#passedMs + Math.max(delayMs, 0), made: this.#made++, work };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves time forward by `ms`, firing what falls due on the way. */
  advance(ms: number): void {
    const end = this.#passedMs + ms;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.made - b.made)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#passedMs = Math.max(this.#passedMs, due.at);
      due.work();
    }
    this.#passedMs = end;
  }

  /** Somebody sets it: forward, or back by a negative `ms`. No time passes. */
  set(ms: number): void {
    this.#setMs += ms;
  }

  /** Time passes and no timer runs, as when the process is stopped; what fell due is late in the next `advance`. */
  standStill(ms: number): void {
    this.#passedMs += ms;
  }

  get pending(): number {
    return this.#timers.length;
  }
}
