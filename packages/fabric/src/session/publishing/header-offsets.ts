import type { RawFrame } from '../../stomp/raw-frame.js';

const USUAL = 3 * 1024;

/**
 * Keeps the header offsets that the parser has found, for many events in one array, so that selectors need not scan the
 * lines again.
 */
export class HeaderOffsets {
  /** Entries before `end` are never changed. */
  offsets = new Int32Array(0);
  /** The entries that were added last. */
  start = 0;
  end = 0;

  /** @param shift Subtracted from each offset: where the event's bytes begin in those of the frame. */
  add({ headerOffsets }: RawFrame, first: number, count: number, shift: number): void {
    const size = 3 * count;
    if (this.end + size > this.offsets.length) {
      this.offsets = new Int32Array(Math.max(USUAL, size));
      this.end = 0;
    }
    const { offsets, end } = this;
    for (let index = 0; index < size; index++)
      offsets[end + index] = (headerOffsets[3 * first + index] as number) - shift;
    this.start = end;
    this.end = end + size;
  }
}
