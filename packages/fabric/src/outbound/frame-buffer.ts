import { putNumber, putStamp, STAMP_START, stampSize, type Tail } from '../event/tail.js';
import { allocate, copyInto } from '../stomp/bytes.js';
import { EMPTY_BODY } from '../stomp/frame.js';
import type { OutFrame } from './frame-sequence.js';

/** Room for what a busy client gets in one write. */
const BUFFER_BYTES = 320 * 1024;

/**
 * Memory into which frames are written one after the other. What was written is never changed, as channels may still
 * send it: when the memory is full, another piece is taken.
 */
export class FrameBuffer {
  bytes: Uint8Array = EMPTY_BODY;
  /** Offset of the next frame, if it fits. */
  at = 0;
  // The last MESSAGE that was written: the next one often begins with the same bytes, except for its position.
  #head: Uint8Array = EMPTY_BODY;
  #rootLines: Uint8Array = EMPTY_BODY;
  #start = 0;
  #stampEnd = 0;

  /** Writes a MESSAGE. @param head The bytes before the tail. @returns its offset; it ends at `at`. */
  putMessage(head: Uint8Array, tail: Tail): number {
    const opening = head.length + stampSize(tail);
    const start = this.#reserve(opening + tail.end - tail.start);
    const { bytes } = this;
    const alike = head === this.#head && tail.rootLines === this.#rootLines && opening === this.#stampEnd;
    if (alike && tail.rootLines.length > 0) {
      bytes.copyWithin(start, this.#start, this.#start + opening);
      putNumber(bytes, start + head.length + STAMP_START.length, tail.position);
    } else {
      putStamp(bytes, copyInto(bytes, start, head, 0, head.length), tail);
      this.#head = head;
      this.#rootLines = tail.rootLines;
      this.#start = start;
      this.#stampEnd = opening;
    }
    this.at = copyInto(bytes, start + opening, tail.bytes, tail.start, tail.end);
    return start;
  }

  /** Writes a frame of another kind. @returns its offset; it ends at `at`. */
  putFrame(frame: Uint8Array): number {
    const start = this.#reserve(frame.length);
    this.at = copyInto(this.bytes, start, frame, 0, frame.length);
    return start;
  }

  messageFrame(head: Uint8Array, tail: Tail): OutFrame {
    const start = this.putMessage(head, tail);
    return { bytes: this.bytes, start, end: this.at };
  }

  /** After a flush: goes on with the same memory if at least half of it is free, else with a new piece. */
  renewIfMostlyUsed(): void {
    if (this.at > this.bytes.length / 2) this.#renew(EMPTY_BODY);
  }

  #reserve(size: number): number {
    if (size > this.bytes.length - this.at) this.#renew(allocate(Math.max(size, BUFFER_BYTES)));
    return this.at;
  }

  #renew(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.at = 0;
    this.#head = EMPTY_BODY;
  }
}
