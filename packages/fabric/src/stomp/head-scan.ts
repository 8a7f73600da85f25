import { isUtf8, textOf } from './bytes.js';
import type { CommandLine } from './commands.js';
import { isContentLength, readContentLength } from './content-length.js';
import type { StompVersion } from './frame.js';
import { invalidFrame, invalidLine, tooLarge } from './frame-errors.js';
import type { RawFrame } from './raw-frame.js';

/** Bounds of one frame. No more than `headBytes + bodyBytes + 1` is ever held. */
export interface ParserLimits {
  /** Command, header lines and blank line. */
  readonly headBytes: number;
  readonly bodyBytes: number;
  readonly headers: number;
  readonly headerNameBytes: number;
}

const LF = 10;
const CR = 13;
const COLON = 58;
const BACKSLASH = 92;
const LOWER_C = 99;
const LOWER_N = 110;
const LOWER_R = 114;

/** 1: the scan must look at it. */
const SPECIAL = new Uint8Array(256).fill(1, 128);
for (const byte of [0, LF, CR, COLON, BACKSLASH]) SPECIAL[byte] = 1;

/** Finds and checks the header lines of one frame after the other, and writes down in a raw frame where they are. */
export class HeadScan {
  /** As announced; -1: it was not. */
  contentLength = -1;
  readonly #limits: ParserLimits;
  readonly #raw: RawFrame;
  #mayHaveBody = false;
  #at = 0;
  #lineStart = 0;
  #colon = -1;

  constructor(limits: ParserLimits, raw: RawFrame) {
    this.#limits = limits;
    this.#raw = raw;
  }

  /** The command line has ended at `at`. */
  begin({ command, body }: CommandLine, at: number): void {
    const raw = this.#raw;
    this.#mayHaveBody = body;
    this.#at = at;
    this.#lineStart = at;
    this.#colon = -1;
    this.contentLength = -1;
    raw.renew();
    raw.command = command;
    raw.headStart = at;
    raw.headerCount = 0;
    raw.ascii = true;
    raw.escaped = false;
    raw.crlf = false;
  }

  /** The one pass over every byte of a head; goes on where it stopped. True: it is complete. */
  scan(bytes: Uint8Array, end: number, version: StompVersion): boolean {
    const raw = this.#raw;
    const stop = Math.min(end, raw.start + this.#limits.headBytes);
    let at = this.#at;
    let lineStart = this.#lineStart;
    let colon = this.#colon;
    for (; at < stop; at++) {
      const byte = bytes[at] as number;
      if (SPECIAL[byte] === 0) continue;
      if (byte === COLON) {
        if (colon < 0) colon = at;
      } else if (byte === LF) {
        const cr = at > lineStart && bytes[at - 1] === CR;
        const lineEnd = cr ? at - 1 : at;
        if (cr) raw.crlf = true;
        if (lineEnd === lineStart) {
          this.#finish(bytes, lineStart, at + 1, version);
          return true;
        }
        this.#header(bytes, lineStart, colon, lineEnd);
        lineStart = at + 1;
        colon = -1;
      } else if (byte === BACKSLASH) raw.escaped = true;
      else if (byte === CR) {
        if (at + 1 === stop) break;
        if (bytes[at + 1] !== LF)
          throw invalidLine(raw.command, bytes, lineStart, at, 'has a CR within: write it as \\r');
      } else if (byte === 0)
        throw invalidFrame(raw.command, 'ends with a NUL before the blank line that must follow its headers');
      else raw.ascii = false;
    }
    if (end - raw.start >= this.#limits.headBytes) throw tooLarge(raw.command, 'head', this.#limits.headBytes);
    this.#at = at;
    this.#lineStart = lineStart;
    this.#colon = colon;
    return false;
  }

  #header(bytes: Uint8Array, start: number, colon: number, lineEnd: number): void {
    const raw = this.#raw;
    const { headers, headerNameBytes } = this.#limits;
    if (colon < 0) throw invalidLine(raw.command, bytes, start, lineEnd, 'has no colon');
    if (colon === start) throw invalidLine(raw.command, bytes, start, lineEnd, 'has no name before its colon');
    if (colon - start > headerNameBytes) {
      throw invalidLine(raw.command, bytes, start, lineEnd, `has a name of more than ${headerNameBytes} bytes`);
    }
    if (raw.headerCount === headers) throw tooLarge(raw.command, 'header count', headers, 'headers');
    raw.add(start, colon, lineEnd);
    if (this.contentLength < 0 && isContentLength(bytes, start, colon)) {
      this.contentLength = this.#bodyLength(readContentLength(raw.command, bytes, colon + 1, lineEnd));
    }
  }

  #bodyLength(length: number): number {
    const { command } = this.#raw;
    if (length > 0 && !this.#mayHaveBody) throw invalidFrame(command, 'may not have a body');
    if (length > this.#limits.bodyBytes) throw tooLarge(command, 'body', this.#limits.bodyBytes);
    return length;
  }

  #finish(bytes: Uint8Array, headEnd: number, bodyStart: number, version: StompVersion): void {
    const raw = this.#raw;
    raw.headEnd = headEnd;
    raw.bodyStart = bodyStart;
    if (!raw.ascii && !isUtf8(bytes, raw.headStart, raw.headEnd))
      throw invalidFrame(raw.command, 'has a header that is not UTF-8');
    raw.bytes = bytes;
    if (raw.command === 'CONNECT' || raw.command === 'STOMP' || raw.command === 'CONNECTED') {
      raw.escaped = false;
      raw.rules = 'plain';
      // Who names no version speaks 1.0.
      if (raw.command === 'CONNECT' && raw.find('accept-version') < 0) raw.rules = 'trimmed';
    } else if (version === '1.0') {
      raw.escaped = false;
      raw.rules = 'trimmed';
    } else {
      raw.rules = version;
      // Read only to say which escape is wrong: every event has escapes, in its time.
      if (raw.escaped && !areKnownEscapes(bytes, raw.headStart, headEnd, version)) raw.headers();
    }
  }

  /** What begins at `at` will begin at 0. */
  rebase(at: number): void {
    const raw = this.#raw;
    this.#at -= at;
    this.#lineStart -= at;
    if (this.#colon >= 0) this.#colon -= at;
    raw.headStart -= at;
    raw.headEnd -= at;
    for (let index = 0; index < 3 * raw.headerCount; index++)
      raw.headerOffsets[index] = (raw.headerOffsets[index] as number) - at;
  }

  /** The receipt that is asked for, as far as the head was read. */
  receipt(bytes: Uint8Array): string | null {
    const { headerOffsets, headerCount } = this.#raw;
    for (let at = 0; at < 3 * headerCount; at += 3) {
      const [start = 0, colon = 0, end = 0] = headerOffsets.subarray(at, at + 3);
      if (textOf(bytes, start, colon) !== 'receipt') continue;
      const value = textOf(bytes, colon + 1, end);
      // Nobody can be told in these words, then.
      return value.includes('\\') ? null : value;
    }
    return null;
  }
}

/** Whether every backslash begins an escape of that version. */
function areKnownEscapes(bytes: Uint8Array, start: number, end: number, version: StompVersion): boolean {
  for (let at = bytes.indexOf(BACKSLASH, start); at >= 0 && at < end; at = bytes.indexOf(BACKSLASH, at + 2)) {
    const byte = bytes[at + 1];
    const known = byte === LOWER_C || byte === LOWER_N || byte === BACKSLASH || (byte === LOWER_R && version === '1.2');
    if (!known) return false;
  }
  return true;
}
