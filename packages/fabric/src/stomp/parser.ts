import { COMMANDS, type CommandLine } from './commands.js';
import type { StompVersion } from './frame.js';
import { invalidFrame, notStomp, tooLarge } from './frame-errors.js';
import { HeadScan, type ParserLimits } from './head-scan.js';
import { PartialFrame } from './partial-frame.js';
import { RawFrame } from './raw-frame.js';

export type { ParserLimits } from './head-scan.js';

export interface FrameHandlers {
  /** A whole frame, valid during the call. */
  frame(raw: RawFrame): void;
  /** Line ends between frames: the peer lives. Once for each run of them. */
  heartBeat?(): void;
}

const LF = 10;
const CR = 13;
/** Bytes taken at once to complete a frame that began in an earlier chunk; more than a frame has usually left. */
const PIECE = 1024;

/**
 * What the bytes are that come next. `command`: a frame has begun, its command line is not complete. `head`: among the
 * header lines. `body`: after the blank line, until the NUL.
 */
type Phase = 'command' | 'head' | 'body';

/**
 * Cuts a stream of bytes, however it is split, into frames. A frame that lies whole in one chunk is shown where it
 * lies; only one that is split is copied. Every length is checked before anything is kept for it, and everything that
 * is wrong with a frame is said before the frame is shown.
 */
export class FrameParser {
  /** As negotiated: which escapes there are. */
  version: StompVersion = '1.2';
  readonly #limits: ParserLimits;
  readonly #handlers: FrameHandlers;
  readonly #raw = new RawFrame();
  readonly #head: HeadScan;
  readonly #partial: PartialFrame;
  #stopped = false;
  #receipt: string | null = null;
  /** A CR between frames that waits for its LF. */
  #carriageReturn = false;
  // The frame in work. Offsets are into the bytes that are scanned: the chunk, or what is held.
  #phase: Phase = 'command';
  #line: CommandLine | null = null;
  /** In the body. */
  #at = 0;

  constructor(limits: ParserLimits, handlers: FrameHandlers) {
    this.#limits = limits;
    this.#handlers = handlers;
    this.#head = new HeadScan(limits, this.#raw);
    // Frames beyond this are refused while they are scanned, so that there is always room for one byte more.
    this.#partial = new PartialFrame(limits.headBytes + limits.bodyBytes + 1);
  }

  /** Of the frame that was refused, as far as it was read: the receipt it asks for. */
  get receipt(): string | null {
    return this.#receipt;
  }

  /** Bytes kept of a frame that is not complete. */
  get buffered(): number {
    return this.#partial.length;
  }

  /** What follows is not looked at any more. */
  stop(): void {
    this.#stopped = true;
    this.#partial.release();
  }

  /**
   * @param chunk only read during the call.
   * @returns how much of it was taken: all of it, or up to the end of the frame that was shown when the parser was stopped.
   * @throws MusterError `stomp_*` for what is no STOMP or beyond a limit, and what the handlers throw; the parser is stopped then.
   */
  push(chunk: Uint8Array): number {
    try {
      return this.#parse(chunk);
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  #parse(chunk: Uint8Array): number {
    const end = chunk.length;
    let at = 0;
    while (at < end && !this.#stopped) {
      if (this.#partial.length > 0) {
        at += this.#partial.add(chunk, at, this.#missing(end - at));
        if (!this.#scan(this.#partial.bytes, this.#partial.length)) continue;
        at -= this.#partial.length - this.#raw.end;
        this.#partial.release();
        this.#handlers.frame(this.#raw);
        continue;
      }
      at = this.#skipLineEnds(chunk, at);
      if (at === end) return end;
      this.#begin(at);
      if (!this.#scan(chunk, end)) {
        this.#rebase(at);
        this.#partial.add(chunk, at, end - at);
        return end;
      }
      at = this.#raw.end;
      this.#handlers.frame(this.#raw);
    }
    return at;
  }

  #skipLineEnds(chunk: Uint8Array, from: number): number {
    let at = from;
    let beats = false;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === LF) {
        beats = true;
        this.#carriageReturn = false;
      } else if (byte === CR && !this.#carriageReturn) this.#carriageReturn = true;
      else break;
    }
    if (beats) this.#handlers.heartBeat?.();
    if (this.#carriageReturn && at < chunk.length) throw notStomp(chunk, at, chunk.length);
    return at;
  }

  #begin(at: number): void {
    this.#phase = 'command';
    this.#line = null;
    this.#raw.start = at;
  }

  /** Goes on where it stopped. True: a whole frame, described by `#raw`. */
  #scan(bytes: Uint8Array, end: number): boolean {
    try {
      return this.#go(bytes, end);
    } catch (error) {
      if (this.#phase !== 'command') this.#receipt = this.#head.receipt(bytes);
      throw error;
    }
  }

  #go(bytes: Uint8Array, end: number): boolean {
    if (this.#phase === 'command' && !this.#scanCommand(bytes, end)) return false;
    if (this.#phase === 'head') {
      if (!this.#head.scan(bytes, end, this.version)) return false;
      this.#phase = 'body';
      this.#at = this.#raw.bodyStart;
    }
    return this.#scanBody(bytes, end);
  }

  #scanCommand(bytes: Uint8Array, end: number): boolean {
    const raw = this.#raw;
    const { start } = raw;
    let possible = false;
    for (const line of COMMANDS[bytes[start] as number] ?? []) {
      const { codes } = line;
      let length = 1;
      while (length < codes.length && bytes[start + length] === codes[length] && start + length < end) length++;
      let at = start + length;
      if (length === codes.length && bytes[at] === CR && at < end) at++;
      if (at === end) possible = true;
      else if (length === codes.length && bytes[at] === LF) {
        this.#phase = 'head';
        this.#line = line;
        this.#head.begin(line, at + 1);
        return true;
      }
    }
    if (!possible) throw notStomp(bytes, start, end);
    return false;
  }

  #scanBody(bytes: Uint8Array, end: number): boolean {
    const raw = this.#raw;
    const length = this.#head.contentLength;
    if (length >= 0) {
      raw.bodyEnd = raw.bodyStart + length;
      if (raw.bodyEnd >= end) return false;
      if (bytes[raw.bodyEnd] !== 0) {
        throw invalidFrame(
          raw.command,
          `has no NUL after the ${length} bytes of body that its content-length announces`,
        );
      }
    } else {
      const most = this.#line?.body === false ? 0 : this.#limits.bodyBytes;
      const found = bytes.indexOf(0, this.#at);
      const bodyEnd = found >= 0 && found < end ? found : end;
      if (bodyEnd - raw.bodyStart > most) {
        throw this.#line?.body === false
          ? invalidFrame(raw.command, 'may not have a body')
          : tooLarge(raw.command, 'body', most);
      }
      this.#at = end;
      if (bodyEnd === end) return false;
      raw.bodyEnd = bodyEnd;
    }
    raw.bytes = bytes;
    raw.end = raw.bodyEnd + 1;
    return true;
  }

  /** How many of `available` bytes to add to what is held: not many more than the frame can need. */
  #missing(available: number): number {
    const known = this.#phase === 'body' && this.#head.contentLength >= 0;
    return Math.min(available, known ? this.#raw.bodyEnd + 1 - this.#partial.length : PIECE);
  }

  /** What begins at `at` will begin at 0. */
  #rebase(at: number): void {
    const raw = this.#raw;
    this.#at -= at;
    raw.start = 0;
    raw.bodyStart -= at;
    raw.bodyEnd -= at;
    this.#head.rebase(at);
  }
}
