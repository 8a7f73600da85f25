import { allocate, copyInto } from '../stomp/bytes.js';

/** One frame or several to be written, a piece of memory that may hold others. */
export interface OutFrame {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** A frame in memory of its own. */
export function single(bytes: Uint8Array): OutFrame {
  return { bytes, start: 0, end: bytes.length };
}

/**
 * The frames for a client since the last flush. Sequences form a tree: each is followed by those that have one frame
 * more, so that clients with the same frames have the same sequence. Adding a frame is one step along the tree, in most
 * cases one comparison, and the bytes of a sequence are put together once for all clients that have it.
 */
export class FrameSequence {
  readonly size: number;
  readonly #before: FrameSequence | null;
  readonly #frame: OutFrame | null;
  #bytes: Uint8Array | null = null;
  /** Most sequences are followed by one other. */
  #next: FrameSequence | null = null;
  #others: Map<OutFrame, FrameSequence> | null = null;

  constructor(before: FrameSequence | null, frame: OutFrame | null) {
    this.#before = before;
    this.#frame = frame;
    this.size = (before?.size ?? 0) + (frame === null ? 0 : frame.end - frame.start);
  }

  /** The sequence with that frame at its end. Frames are the same when they are the same object. */
  followedBy(frame: OutFrame): FrameSequence {
    const next = this.#next;
    if (next === null) {
      this.#next = new FrameSequence(this, frame);
      return this.#next;
    }
    return next.#frame === frame ? next : this.#otherSuccessor(frame);
  }

  /** The bytes of all its frames. */
  bytes(): Uint8Array {
    this.#bytes ??= this.#concatenated();
    return this.#bytes;
  }

  #otherSuccessor(frame: OutFrame): FrameSequence {
    this.#others ??= new Map();
    let sequence = this.#others.get(frame);
    if (sequence === undefined) {
      sequence = new FrameSequence(this, frame);
      this.#others.set(frame, sequence);
    }
    return sequence;
  }

  #concatenated(): Uint8Array {
    const only = this.#before?.size === 0 ? this.#frame : null;
    // If the frame is most of its memory, it needs no copy: while it waits to be sent, not much else is kept in memory.
    if (only !== null && this.size > only.bytes.length / 2) return only.bytes.subarray(only.start, only.end);
    const bytes = allocate(this.size);
    for (let sequence: FrameSequence | null = this; sequence !== null; sequence = sequence.#before) {
      const frame = sequence.#frame;
      if (frame !== null)
        copyInto(bytes, sequence.size - (frame.end - frame.start), frame.bytes, frame.start, frame.end);
    }
    return bytes;
  }
}
