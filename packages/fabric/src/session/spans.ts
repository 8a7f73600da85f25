import type { RawFrame } from '../stomp/raw-frame.js';

const USUAL = 3 * 1024;

/** Where header lines of many events are, as their parser found them: kept, so that nobody looks for them again. */
export class Spans {
  /** Never changed up to `end`. */
  all = new Int32Array(0);
  /** Those that were added last. */
  start = 0;
  end = 0;

  /** @param shift What is there at this place will be at 0. */
  add({ spans }: RawFrame, first: number, count: number, shift: number): void {
    const size = 3 * count;
    if (this.end + size > this.all.length) {
      this.all = new Int32Array(Math.max(USUAL, size));
      this.end = 0;
    }
    const { all, end } = this;
    for (let index = 0; index < size; index++) all[end + index] = (spans[3 * first + index] as number) - shift;
    this.start = end;
    this.end = end + size;
  }
}
