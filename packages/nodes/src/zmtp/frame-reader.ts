import { COMMAND, LONG, MORE } from './frame.js';
import { ProtocolError } from './protocol-error.js';

const KNOWN_FLAGS = MORE | LONG | COMMAND;
const SMALLEST_BUFFER = 256;

/**
 * Cuts what arrives into frames. A frame that is too large is refused by its header, before any of it is kept. What is
 * kept of an unfinished frame is one buffer that grows with what has really arrived, so that neither an announced length
 * nor many tiny pieces take memory; an idle connection keeps nothing.
 */
export class FrameReader {
  /** Bytes of the largest frame; may be changed between frames. */
  limit: number;
  #buffer: Buffer | null = null;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Memory taken by an unfinished frame. */
  get held(): number {
    return this.#buffer?.length ?? 0;
  }

  /**
   * `take` gets each frame that is complete: `body` is good only until it returns. It says whether to go on.
   * @throws ProtocolError, and whatever `take` throws.
   */
  read(chunk: Buffer, take: (flags: number, body: Buffer) => boolean): void {
    const data = this.#buffer === null ? chunk : this.#append(this.#buffer, chunk);
    let at = 0;
    for (;;) {
      const end = this.#frameEnd(data, at);
      if (end === null) break;
      const flags = data[at] ?? 0;
      const bodyAt = at + ((flags & LONG) === 0 ? 2 : 9);
      at = end;
      if (!take(flags, data.subarray(bodyAt, end))) break;
    }
    this.#keep(data, at);
  }

  /** Where the frame at `at` ends; null when it is not complete. */
  #frameEnd(data: Buffer, at: number): number | null {
    const flags = data[at];
    if (flags === undefined) return null;
    if ((flags & ~KNOWN_FLAGS) !== 0 || (flags & (COMMAND | MORE)) === (COMMAND | MORE)) {
      throw new ProtocolError('unknown flags of a frame');
    }
    const headerEnd = at + ((flags & LONG) === 0 ? 2 : 9);
    if (data.length < headerEnd) return null;
    if ((flags & LONG) !== 0 && data.readUInt32BE(at + 1) !== 0) throw new ProtocolError('a frame is too large');
    const length = (flags & LONG) === 0 ? (data[at + 1] ?? 0) : data.readUInt32BE(at + 5);
    if (length > this.limit) throw new ProtocolError('a frame is too large');
    return data.length < headerEnd + length ? null : headerEnd + length;
  }

  #append(buffer: Buffer, chunk: Buffer): Buffer {
    const used = this.#used + chunk.length;
    let target = buffer;
    if (used > buffer.length) {
      target = Buffer.allocUnsafeSlow(Math.max(used, 2 * buffer.length));
      buffer.copy(target, 0, 0, this.#used);
      this.#buffer = target;
    }
    chunk.copy(target, this.#used);
    this.#used = used;
    return target.subarray(0, used);
  }

  #keep(data: Buffer, from: number): void {
    const left = data.length - from;
    if (left === 0) {
      this.#buffer = null;
    } else if (this.#buffer === null || from > 0) {
      const buffer = Buffer.allocUnsafeSlow(Math.max(left, SMALLEST_BUFFER));
      data.copy(buffer, 0, from);
      this.#buffer = buffer;
    }
    this.#used = left;
  }
}
