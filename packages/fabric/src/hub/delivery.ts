import type { TextAttributes } from '@muster/selector';
import { bytesOf, textOf } from '../stomp/bytes.js';
import { escapeHeader, unescapeHeader } from '../stomp/escape.js';
import { EMPTY_BODY, type StompVersion } from '../stomp/frame.js';
import { tailFor } from '../stomp/message.js';

/** Events shown by all deliveries. */
let shown = 0;

const LF = 10;
const COLON = 58;
const BACKSLASH = 92;
const R = 114;

/** 1: the scan must look at it. */
const SPECIAL = new Uint8Array(256).fill(1, 128);
for (const byte of [LF, COLON, BACKSLASH]) SPECIAL[byte] = 1;

/** What the root says of an event, before the publisher's own lines. */
const OF_ROOT = new Set(['destination', 'message-id', 'org', 'source', 'time']);

/**
 * An event on its way to those it is for: its tail where it lies, and its headers as selectors ask for them. There is
 * one of these for all events of a hub, shown one after the other; it is valid during the call it is given to, the
 * bytes until the next flush.
 *
 * Nothing of the tail is looked at before somebody asks, and what the root says of the event only if it is asked for.
 */
export class Delivery implements TextAttributes {
  bytes: Uint8Array = EMPTY_BODY;
  start = 0;
  end = 0;
  /** Its `message-id`. */
  position = 0;
  /** No other event, of whatever delivery, has the same. */
  serial = 0;
  #linesStart = 0;
  readonly #own = new Lines();
  readonly #ofRoot = new Lines();
  #older: Tail | null = null;
  /** What was asked for last: selectors that are alike ask for the same again and again. */
  #name: string | null = null;
  #value: string | undefined = undefined;

  /** @param linesStart Where the publisher's own lines begin; `start` when that is not known. */
  show(bytes: Uint8Array, start: number, end: number, position: number, linesStart = start): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.position = position;
    this.serial = ++shown;
    this.#linesStart = linesStart;
    this.#own.scanned = false;
    this.#ofRoot.scanned = false;
    this.#older = null;
    this.#name = null;
  }

  /** Value of the first header of that name; selectors see all but the content-length. */
  get(name: string): string | undefined {
    if (name === this.#name) return this.#value;
    this.#name = name;
    this.#value = this.#look(name);
    return this.#value;
  }

  #look(name: string): string | undefined {
    if (name === 'content-length') return undefined;
    return this.#linesStart > this.start && OF_ROOT.has(name) ? this.#rootLines.get(name) : this.#ownLines.get(name);
  }

  /** The tail for clients of a version: mostly the same. */
  tail(version: StompVersion): Tail {
    if (version === '1.2') return this;
    // 1.1 knows all escapes but one; 1.0 knows none, and the time has some.
    if (version === '1.1' && !this.#rootLines.returns && !this.#ownLines.returns) return this;
    // Few clients are that old, and fewer of two ages.
    if (this.#older?.version === version) return this.#older;
    const bytes = tailFor(this.bytes.subarray(this.start, this.end), version);
    this.#older = { bytes, start: 0, end: bytes.length, version };
    return this.#older;
  }

  get #ownLines(): Lines {
    if (!this.#own.scanned) this.#own.scan(this.bytes, this.#linesStart, this.end);
    return this.#own;
  }

  get #rootLines(): Lines {
    if (!this.#ofRoot.scanned) this.#ofRoot.scan(this.bytes, this.start, this.#linesStart);
    return this.#ofRoot;
  }
}

export interface Tail {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly version?: StompVersion;
}

/** Some header lines. */
class Lines {
  scanned = false;
  /** There is an escaped CR. */
  returns = false;
  #bytes: Uint8Array = EMPTY_BODY;
  #start = 0;
  #end = 0;
  /** Three for each: where it begins, its colon, its LF. */
  readonly #spans: number[] = [];
  #count = 0;
  #ascii = true;
  #escaped = false;
  #text: string | null = null;

  /** Up to the blank line, or `end`. */
  scan(bytes: Uint8Array, start: number, end: number): void {
    const spans = this.#spans;
    let count = 0;
    let line = start;
    let colon = -1;
    this.scanned = true;
    this.returns = false;
    this.#escaped = false;
    this.#ascii = true;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (SPECIAL[byte] === 0) continue;
      if (byte === COLON) {
        if (colon < 0) colon = at;
      } else if (byte === LF) {
        if (at === line) break;
        spans[count] = line;
        spans[count + 1] = colon;
        spans[count + 2] = at;
        count += 3;
        line = at + 1;
        colon = -1;
      } else if (byte === BACKSLASH) {
        this.#escaped = true;
        if (bytes[at + 1] === R) this.returns = true;
      } else this.#ascii = false;
    }
    this.#bytes = bytes;
    this.#start = start;
    this.#end = line;
    this.#count = count;
    this.#text = null;
  }

  get(name: string): string | undefined {
    const plain = (this.#ascii && !this.#escaped) || PLAIN.test(name);
    const found = this.#find(plain ? name : asWritten(name));
    if (found < 0) return undefined;
    const from = (this.#spans[found + 1] as number) + 1;
    const to = this.#spans[found + 2] as number;
    return this.#escaped ? unescapeHeader(this.#read(from, to), '1.2') : this.#read(from, to);
  }

  /** One decoding of ASCII lines serves all of them: cheaper than one for each. */
  #read(from: number, to: number): string {
    if (!this.#ascii) return textOf(this.#bytes, from, to);
    this.#text ??= textOf(this.#bytes, this.#start, this.#end, true);
    return this.#text.substring(from - this.#start, to - this.#start);
  }

  /** @param name each character is a byte. */
  #find(name: string): number {
    const bytes = this.#bytes;
    const spans = this.#spans;
    const { length } = name;
    for (let index = 0; index < this.#count; index += 3) {
      const from = spans[index] as number;
      if ((spans[index + 1] as number) - from !== length) continue;
      let same = 0;
      while (same < length && bytes[from + same] === name.charCodeAt(same)) same++;
      if (same === length) return index;
    }
    return -1;
  }
}

/** Names that are written as they are, as most are. */
const PLAIN = /^[\w.$-]*$/;

/** A name as its bytes are found, one character each. */
function asWritten(name: string): string {
  return String.fromCharCode(...bytesOf(escapeHeader(name, '1.2')));
}
