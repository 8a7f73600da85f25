import { BEFORE_POSITION, putNumber, putOpening, sizeOfOpening, type Tail } from '../root/stamp.js';
import { allocate } from '../stomp/bytes.js';
import { copyInto } from '../stomp/copy.js';
import { EMPTY_BODY } from '../stomp/frame.js';
import type { OutFrame } from './chain.js';

/** What a busy client gets in one write fits in. */
const BLOCK_BYTES = 320 * 1024;

/**
 * Memory in which frames are put together, one after the other. What was written stays as it is: when there is no more
 * room, there is another block.
 */
export class Block {
  bytes: Uint8Array = EMPTY_BODY;
  /** Where the next one begins, if it fits. */
  at = 0;
  // The last MESSAGE here: the next one often begins with the same bytes, but for the digits of its position.
  #head: Uint8Array = EMPTY_BODY;
  #said: Uint8Array = EMPTY_BODY;
  #start = 0;
  #opening = 0;

  /** @param head All before the tail. @returns where the MESSAGE begins; it ends at `at`. */
  put(head: Uint8Array, tail: Tail): number {
    const opening = head.length + sizeOfOpening(tail);
    const start = this.#reserve(opening + tail.end - tail.start);
    const { bytes } = this;
    const alike = head === this.#head && tail.said === this.#said && opening === this.#opening;
    if (alike && tail.said.length > 0) {
      bytes.copyWithin(start, this.#start, this.#start + opening);
      putNumber(bytes, start + head.length + BEFORE_POSITION.length, tail.position);
    } else {
      putOpening(bytes, copyInto(bytes, start, head, 0, head.length), tail);
      this.#head = head;
      this.#said = tail.said;
      this.#start = start;
      this.#opening = opening;
    }
    this.at = copyInto(bytes, start + opening, tail.bytes, tail.start, tail.end);
    return start;
  }

  /** A frame of another kind. @returns where it begins. */
  putFrame(frame: Uint8Array): number {
    const start = this.#reserve(frame.length);
    this.at = copyInto(this.bytes, start, frame, 0, frame.length);
    return start;
  }

  frame(head: Uint8Array, tail: Tail): OutFrame {
    const start = this.put(head, tail);
    return { bytes: this.bytes, start, end: this.at };
  }

  /** Nothing is waited for here any more: what is left of the memory is used if it is much. */
  rest(): void {
    if (this.at > this.bytes.length / 2) this.#renew(EMPTY_BODY);
  }

  #reserve(size: number): number {
    if (size > this.bytes.length - this.at) this.#renew(allocate(Math.max(size, BLOCK_BYTES)));
    return this.at;
  }

  #renew(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.at = 0;
    this.#head = EMPTY_BODY;
  }
}
