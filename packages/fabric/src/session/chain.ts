import { allocate } from '../stomp/bytes.js';
import { copyInto } from '../stomp/copy.js';

/** What goes out: one frame or several, in memory that may hold others. */
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
 * The frames for a client since the last flush, as a path from the start of a tree: clients that got the same frames
 * are at the same link. So a delivery is one step along the tree, which mostly is one comparison, and the bytes of a
 * path are put together once for all who stand at its end.
 */
export class Link {
  readonly size: number;
  readonly #before: Link | null;
  readonly #frame: OutFrame | null;
  #bytes: Uint8Array | null = null;
  /** Most links have one successor. */
  #next: Link | null = null;
  #others: Map<OutFrame, Link> | null = null;

  constructor(before: Link | null, frame: OutFrame | null) {
    this.#before = before;
    this.#frame = frame;
    this.size = (before?.size ?? 0) + (frame === null ? 0 : frame.end - frame.start);
  }

  /** The link after that frame. Frames are the same when they are the same object. */
  next(frame: OutFrame): Link {
    const next = this.#next;
    if (next === null) {
      this.#next = new Link(this, frame);
      return this.#next;
    }
    return next.#frame === frame ? next : this.#other(frame);
  }

  /** The bytes of all frames from the start to here. */
  bytes(): Uint8Array {
    this.#bytes ??= this.#concatenated();
    return this.#bytes;
  }

  #other(frame: OutFrame): Link {
    this.#others ??= new Map();
    let link = this.#others.get(frame);
    if (link === undefined) {
      link = new Link(this, frame);
      this.#others.set(frame, link);
    }
    return link;
  }

  #concatenated(): Uint8Array {
    const only = this.#before?.size === 0 ? this.#frame : null;
    // Memory of which not much else is in use may wait to be sent as it is.
    if (only !== null && this.size > only.bytes.length / 2) return only.bytes.subarray(only.start, only.end);
    const bytes = allocate(this.size);
    for (let link: Link | null = this; link !== null; link = link.#before) {
      const frame = link.#frame;
      if (frame !== null) copyInto(bytes, link.size - (frame.end - frame.start), frame.bytes, frame.start, frame.end);
    }
    return bytes;
  }
}
