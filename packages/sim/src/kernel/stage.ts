import { Coverage } from './coverage.js';
import type { Run } from './explore.js';
import { Timeline } from './timeline.js';
import { Trace } from './trace.js';
import type { Violation } from './violation.js';

const TRACE_LINES = 150;

/** Where a simulation happens: its time, what is written down of it, and the first rule that was broken. */
export abstract class Stage {
  readonly timeline = new Timeline();
  readonly trace: Trace;
  readonly coverage = new Coverage();
  violation: Violation | null = null;
  steps = 0;
  readonly #began = this.timeline.now;

  /** @param print is given each line of the trace at once; null: only the last are kept. */
  constructor(print: ((line: string) => void) | null) {
    this.trace = new Trace(() => this.timeline.now, TRACE_LINES, print);
  }

  /** The first is what counts: whatever follows may follow from it. */
  readonly report = (violation: Violation): void => {
    if (this.violation !== null) return;
    this.violation = violation;
    this.trace.say(() => `VIOLATION ${violation.message}`);
  };

  /** Lets one thing happen, and what follows from it at once; false when nothing is due before `until`. */
  async step(until: number): Promise<boolean> {
    if (!this.timeline.step(until)) return false;
    this.steps += 1;
    await this.settle();
    return true;
  }

  /** Promises run to rest; group commits begin a turn of the event loop later. Real time has no say. */
  async settle(): Promise<void> {
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    this.check();
  }

  /** What every run tells of itself in the end. */
  ended(): Pick<Run, 'violation' | 'steps' | 'virtualMs' | 'tail' | 'reached'> {
    const { violation, steps, timeline, trace, coverage } = this;
    const tail = violation === null ? [] : trace.tail();
    return { violation, steps, virtualMs: timeline.now - this.#began, tail, reached: coverage.counts };
  }

  /** Looks for broken rules, after each step. */
  protected abstract check(): void;
}
