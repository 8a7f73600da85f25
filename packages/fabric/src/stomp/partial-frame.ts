import { allocate } from './bytes.js';
import { EMPTY_BODY } from './frame.js';

/** Room for most frames that are split. */
const FIRST = 1024;

/** The beginning of a frame that later chunks complete; memory is taken as bytes come, never before. */
export class PartialFrame {
  bytes: Uint8Array = EMPTY_BODY;
  length = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds up to `count` bytes, as many as may be held. @returns how many */
  add(chunk: Uint8Array, at: number, count: number): number {
    const taken = Math.min(count, this.#most - this.length);
    const length = this.length + taken;
    if (length > this.bytes.length) {
      const larger = allocate(Math.min(this.#most, Math.max(2 * length, FIRST)));
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    this.bytes.set(chunk.subarray(at, at + taken), this.length);
    this.length = length;
    return taken;
  }

  release(): void {
    this.bytes = EMPTY_BODY;
    this.length = 0;
  }
}
