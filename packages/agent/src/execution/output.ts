import type { Stream } from '@muster/wire';
import { OUTPUT_CHUNK, OUTPUT_WINDOW } from '../limits.js';
import { Mask } from './mask.js';

/** How much a command wrote, what was dropped included. */
export interface OutputBytes {
  readonly stdout: number;
  readonly stderr: number;
}

/** Some bytes of a stream, and where they stand in it. */
export interface OutputPiece {
  readonly stream: Stream;
  readonly offset: number;
  readonly data: Uint8Array;
}

/** Bytes at a fixed place of everything the command wrote. Grows at its end while it is the last one. */
interface Block {
  readonly offset: number;
  readonly bytes: Buffer;
  length: number;
}

const endOf = (block: Block): number => block.offset + block.length;

/**
 * One stream of a command on its way to the server. Memory stays within `limit`: the first half of the limit is sent
 * live; of what comes after it only the last half is kept and sent at the end, so the middle of too much is dropped.
 * Reading therefore never waits for the server, and a command is never stalled by a server that is away.
 */
export class OutputStream {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  /** Not yet stored by the server, in order. */
  #blocks: Block[] = [];
  /** After the head: only the last bytes, until the end is known. */
  #tail: Block[] = [];
  #tailLength = 0;
  #total = 0;
  #ended = false;
  /** Position of the next byte to send, of the first byte not stored, and the highest position ever sent. */
  #next = 0;
  #stored = 0;
  #highest = 0;

  constructor(limit: number) {
    this.#headLimit = Math.ceil(limit / 2);
    this.#tailLimit = Math.floor(limit / 2);
  }

  /** Bytes written by the command so far, dropped ones included. */
  get total(): number {
    return this.#total;
  }

  /** Nothing more comes, and all that was kept is stored. */
  get drained(): boolean {
    return this.#ended && this.#blocks.length === 0;
  }

  write(data: Uint8Array): void {
    if (this.#ended) return;
    const room = Math.max(this.#headLimit - this.#total, 0);
    this.#append(this.#blocks, data.subarray(0, room));
    const rest = data.subarray(room);
    this.#append(this.#tail, rest);
    this.#tailLength += rest.length;
    for (;;) {
      const oldest = this.#tail[0];
      if (oldest === undefined || this.#tailLength - oldest.length < this.#tailLimit) break;
      this.#tailLength -= oldest.length;
      this.#tail.shift();
    }
  }

  #append(blocks: Block[], data: Uint8Array): void {
    let rest = data;
    while (rest.length > 0) {
      let block = blocks.at(-1);
      if (block === undefined || block.length === block.bytes.length || endOf(block) !== this.#total) {
        block = { offset: this.#total, bytes: Buffer.allocUnsafe(OUTPUT_CHUNK), length: 0 };
        blocks.push(block);
      }
      const taken = rest.subarray(0, block.bytes.length - block.length);
      block.bytes.set(taken, block.length);
      block.length += taken.length;
      this.#total += taken.length;
      rest = rest.subarray(taken.length);
    }
  }

  /** No more is written: what was kept of the end follows the head. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const from = this.#total - this.#tailLimit;
    for (const block of this.#tail) {
      const skip = Math.min(Math.max(from - block.offset, 0), block.length);
      if (skip === block.length) continue;
      this.#blocks.push({
        offset: block.offset + skip,
        bytes: block.bytes.subarray(skip, block.length),
        length: block.length - skip,
      });
    }
    this.#tail = [];
  }

  /**
   * The next piece to send; null when there is none now. While something is unacknowledged, small pieces wait to
   * become a whole chunk: many small writes make few messages, a single one is not delayed.
   */
  take(chunk: number): Omit<OutputPiece, 'stream'> | null {
    const index = this.#blocks.findIndex((block) => endOf(block) > this.#next);
    const block = this.#blocks[index];
    if (block === undefined) return null;
    const offset = Math.max(this.#next, block.offset);
    const available = endOf(block) - offset;
    const inFlight = this.#inFlight();
    if (inFlight >= OUTPUT_WINDOW) return null;
    const growing = !this.#ended && index === this.#blocks.length - 1 && block.length < block.bytes.length;
    if (growing && inFlight > 0 && endOf(block) < this.#headLimit && available < chunk) return null;
    const length = Math.min(available, chunk);
    const start = offset - block.offset;
    this.#next = offset + length;
    this.#highest = Math.max(this.#highest, this.#next);
    return { offset, data: block.bytes.subarray(start, start + length) };
  }

  #inFlight(): number {
    let sum = 0;
    for (const block of this.#blocks) {
      if (block.offset >= this.#next) break;
      sum += Math.min(endOf(block), this.#next) - Math.max(block.offset, this.#stored);
    }
    return sum;
  }

  /** The server has everything below `offset` that was sent to it. Returns whether that is news. */
  stored(offset: number): boolean {
    const upTo = Math.min(offset, this.#highest);
    if (upTo <= this.#stored) return false;
    this.#stored = upTo;
    this.#next = Math.max(this.#next, upTo);
    this.#blocks = this.#blocks.filter((block) => endOf(block) > upTo);
    return true;
  }

  /** All that was written, if it is no more than `most` bytes and nothing of it was sent yet; else null. */
  whole(most: number): Buffer | null {
    if (this.#total > most || this.#highest > 0 || this.#tail.length > 0) return null;
    return Buffer.concat(this.#blocks.map(({ bytes, length }) => bytes.subarray(0, length)));
  }

  /** What is not known to be stored is sent again: positions make repeats harmless. */
  rewind(): void {
    this.#next = this.#stored;
  }
}

/** Both streams of one command. */
export class CommandOutput {
  readonly #streams: Readonly<Record<Stream, OutputStream>>;
  readonly #captured: boolean;
  #masks: Readonly<Record<Stream, Mask>> | null = null;
  #turn: Stream = 'stdout';
  /** Called when there may be something to send. */
  onReadable: () => void = () => undefined;
  /** Called when the server has stored more. */
  onProgress: () => void = () => undefined;

  /** Without capture nothing is kept and there is nothing to wait for. */
  constructor(limit: number, captured: boolean) {
    this.#captured = captured;
    this.#streams = { stdout: new OutputStream(limit), stderr: new OutputStream(limit) };
  }

  get drained(): boolean {
    return !this.#captured || (this.#streams.stdout.drained && this.#streams.stderr.drained);
  }

  get bytes(): OutputBytes | null {
    if (!this.#captured) return null;
    return { stdout: this.#streams.stdout.total, stderr: this.#streams.stderr.total };
  }

  /** What is written from now on shows `***` for these values; what is counted are the bytes that are shown. */
  mask(values: readonly string[]): void {
    this.#masks = { stdout: new Mask(values), stderr: new Mask(values) };
  }

  write(stream: Stream, data: Uint8Array): void {
    if (!this.#captured) return;
    this.#streams[stream].write(this.#masks?.[stream].write(data) ?? data);
    this.onReadable();
  }

  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#captured && this.#masks !== null) this.#streams[stream].write(this.#masks[stream].end());
    }
    this.#streams.stdout.end();
    this.#streams.stderr.end();
    this.onReadable();
    if (this.drained) this.onProgress();
  }

  /** Of one stream; see OutputStream.whole. */
  whole(stream: Stream, most: number): Buffer | null {
    return this.#streams[stream].whole(most);
  }

  /** The streams take turns. */
  take(chunk: number): OutputPiece | null {
    for (let tries = 0; tries < 2; tries += 1) {
      const stream = this.#turn;
      this.#turn = stream === 'stdout' ? 'stderr' : 'stdout';
      const piece = this.#streams[stream].take(chunk);
      if (piece !== null) return { stream, ...piece };
    }
    return null;
  }

  stored(stream: Stream, offset: number): void {
    if (!this.#streams[stream].stored(offset)) return;
    this.onReadable();
    this.onProgress();
  }

  rewind(): void {
    this.#streams.stdout.rewind();
    this.#streams.stderr.rewind();
    this.onReadable();
  }
}
