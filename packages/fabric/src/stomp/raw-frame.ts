import { copyOf, textOf } from './bytes.js';
import type { Command } from './commands.js';
import { type HeaderRules, unescapeHeader } from './escape.js';
import { EMPTY_BODY, type Frame, type Headers } from './frame.js';

/** There is one of these for each connection. */
const USUAL_HEADERS = 16;

/**
 * A frame where it lies in received bytes. The parser has one of these and shows it again and again: it and its bytes
 * are valid only during the call. Its header lines are sound (names, escapes, UTF-8), so that reading them cannot fail.
 *
 *     SEND\n  destination:/topic/events\n  …  \n    body    \0
 *     start   headStart                       headEnd  bodyStart  bodyEnd  end (after the NUL)
 */
export class RawFrame {
  command: Command = 'SEND';
  bytes: Uint8Array = EMPTY_BODY;
  start = 0;
  headStart = 0;
  /** Where the blank line begins. */
  headEnd = 0;
  bodyStart = 0;
  bodyEnd = 0;
  end = 0;
  headerCount = 0;
  /** Three for each header: where its line begins, its colon, where its line ends (before CR or LF). */
  headerOffsets = new Int32Array(3 * USUAL_HEADERS);
  rules: HeaderRules = '1.2';
  /** No byte of the head is above 127. */
  ascii = true;
  /** The head has escapes that these rules know. */
  escaped = false;
  /** Some line ends with CR LF. */
  crlf = false;
  #text: string | null = null;

  /** For the parser: another frame begins. */
  renew(): void {
    this.#text = null;
  }

  /** For the parser: one header more. */
  add(start: number, colon: number, end: number): void {
    const at = 3 * this.headerCount++;
    if (at === this.headerOffsets.length) {
      const larger = new Int32Array(2 * at);
      larger.set(this.headerOffsets);
      this.headerOffsets = larger;
    }
    this.headerOffsets[at] = start;
    this.headerOffsets[at + 1] = colon;
    this.headerOffsets[at + 2] = end;
  }

  /** Value of the first header of that name. */
  header(name: string): string | undefined {
    const index = this.find(name);
    return index < 0 ? undefined : this.valueOf(index);
  }

  /** Which header of that name is the first; -1: none. */
  find(name: string): number {
    const { bytes, headerOffsets, headerCount } = this;
    if (!this.ascii || this.escaped || this.rules === 'trimmed') return this.#findDecoded(name);
    const length = name.length;
    for (let index = 0, at = 0; index < headerCount; index++, at += 3) {
      const from = headerOffsets[at] as number;
      if ((headerOffsets[at + 1] as number) - from !== length) continue;
      let same = 0;
      while (same < length && bytes[from + same] === name.charCodeAt(same)) same++;
      if (same === length) return index;
    }
    return -1;
  }

  nameOf(index: number): string {
    return this.#decode(this.headerOffsets[3 * index] as number, this.headerOffsets[3 * index + 1] as number);
  }

  /** @param index 0 to `headerCount - 1`. */
  valueOf(index: number): string {
    return this.#decode((this.headerOffsets[3 * index + 1] as number) + 1, this.headerOffsets[3 * index + 2] as number);
  }

  /** `name:value` as on the wire, still escaped, without the line end. */
  lineOf(index: number): string {
    return this.#raw(this.headerOffsets[3 * index] as number, this.headerOffsets[3 * index + 2] as number);
  }

  headers(): Headers {
    const headers: [string, string][] = [];
    for (let index = 0; index < this.headerCount; index++) headers.push([this.nameOf(index), this.valueOf(index)]);
    return headers;
  }

  /** A copy that may be kept. */
  body(): Uint8Array {
    return this.bodyEnd === this.bodyStart ? EMPTY_BODY : copyOf(this.bytes, this.bodyStart, this.bodyEnd);
  }

  /** The whole frame, decoded, to be kept. */
  frame(): Frame {
    return { command: this.command, headers: this.headers(), body: this.body() };
  }

  #decode(start: number, end: number): string {
    const raw = this.#raw(start, end);
    return this.escaped || this.rules === 'trimmed' ? unescapeHeader(raw, this.rules) : raw;
  }

  /** One decoding of an ASCII head serves all its headers: cheaper than one for each of them. */
  #raw(start: number, end: number): string {
    if (!this.ascii) return textOf(this.bytes, start, end);
    this.#text ??= textOf(this.bytes, this.headStart, this.headEnd, true);
    return this.#text.substring(start - this.headStart, end - this.headStart);
  }

  #findDecoded(name: string): number {
    for (let index = 0; index < this.headerCount; index++) if (this.nameOf(index) === name) return index;
    return -1;
  }
}
