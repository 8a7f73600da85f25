import { bytesOf, textOf } from '../stomp/bytes.js';
import { escapeHeader, unescapeHeader } from '../stomp/escape.js';
import { EMPTY_BODY } from '../stomp/frame.js';

const LF = 10;
const CR = 13;
const COLON = 58;
const BACKSLASH = 92;

/** Offsets of each line: its start, its colon, the end of its value. */
export const OFFSETS_PER_LINE = 3;
const USUAL_LINES = 32;
/** Header names whose last value is remembered. */
const KNOWN_NAMES = 8;

/** 1 for the bytes that the scan stops at. */
const SPECIAL = new Uint8Array(256).fill(1, 128);
for (const byte of [LF, COLON, BACKSLASH]) SPECIAL[byte] = 1;

/**
 * Looks up headers in encoded header lines. Lines are located when the first header is asked for, and decoded one by
 * one.
 */
export class HeaderLines {
  #bytes: Uint8Array = EMPTY_BODY;
  #start = 0;
  #end = 0;
  /**
   * Offsets of the lines in `#bytes`: the entries from `#first` to `#last`, three for each line. Null: not located yet.
   */
  #offsets: Int32Array | null = null;
  #first = 0;
  #last = 0;
  /** Memory for the offsets of lines that the parser has not located. */
  #found: Int32Array = new Int32Array(OFFSETS_PER_LINE * USUAL_LINES);
  #ascii = true;
  #escaped = false;
  #text: string | null = null;
  /**
   * The last values of some headers: a publisher sends the same values again and again, and comparing bytes is cheaper
   * than decoding them.
   */
  readonly #known: { readonly name: string; value: string }[] = [];
  #oldest = 0;

  /** Shows other lines. @param end Where they end, unless a blank line comes before. */
  show(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#offsets = null;
    this.#text = null;
  }

  /** The lines have been located before, at these offsets. */
  showAt(offsets: Int32Array, first: number, last: number, ascii: boolean, escaped: boolean): void {
    this.#offsets = offsets;
    this.#first = first;
    this.#last = last;
    this.#ascii = ascii;
    this.#escaped = escaped;
  }

  get(name: string): string | undefined {
    const offsets = this.#offsets ?? this.#scan();
    const plain = (this.#ascii && !this.#escaped) || isPlain(name);
    const found = this.#find(offsets, plain ? name : asWritten(name));
    if (found < 0) return undefined;
    const from = (offsets[found + 1] as number) + 1;
    const to = offsets[found + 2] as number;
    if (this.#escaped) return unescapeHeader(this.#read(from, to), '1.2');
    return this.#ascii ? this.#knownValue(name, from, to) : this.#read(from, to);
  }

  #knownValue(name: string, from: number, to: number): string {
    const known = this.#knownOf(name);
    if (!this.#isAt(known.value, from, to)) known.value = this.#read(from, to);
    return known.value;
  }

  #knownOf(name: string): { readonly name: string; value: string } {
    for (const known of this.#known) if (known.name === name) return known;
    const known = { name, value: '' };
    this.#known[this.#oldest] = known;
    this.#oldest = (this.#oldest + 1) % KNOWN_NAMES;
    return known;
  }

  /** @param text each character is a byte. */
  #isAt(text: string, from: number, to: number): boolean {
    const bytes = this.#bytes;
    const { length } = text;
    if (to - from !== length) return false;
    let same = 0;
    while (same < length && bytes[from + same] === text.charCodeAt(same)) same++;
    return same === length;
  }

  #scan(): Int32Array {
    const bytes = this.#bytes;
    const end = this.#end;
    let offsets = this.#found;
    let count = 0;
    let line = this.#start;
    let colon = -1;
    let escaped = false;
    let ascii = true;
    for (let at = line; at < end; at++) {
      const byte = bytes[at] as number;
      if (SPECIAL[byte] === 0) continue;
      if (byte === COLON) {
        if (colon < 0) colon = at;
      } else if (byte === LF) {
        if (at === line) break;
        if (count === offsets.length) offsets = this.#more();
        offsets[count] = line;
        offsets[count + 1] = colon;
        offsets[count + 2] = at;
        count += OFFSETS_PER_LINE;
        line = at + 1;
        colon = -1;
      } else if (byte === BACKSLASH) escaped = true;
      else ascii = false;
    }
    this.#end = line;
    this.showAt(offsets, 0, count, ascii, escaped);
    return offsets;
  }

  #more(): Int32Array {
    const more = new Int32Array(2 * this.#found.length);
    more.set(this.#found);
    this.#found = more;
    return more;
  }

  /** ASCII lines are decoded all at once: cheaper than one by one. */
  #read(from: number, to: number): string {
    if (!this.#ascii) return textOf(this.#bytes, from, to);
    this.#text ??= textOf(this.#bytes, this.#start, this.#end, true);
    return this.#text.substring(from - this.#start, to - this.#start);
  }

  /** @param name each character is a byte. */
  #find(offsets: Int32Array, name: string): number {
    const last = this.#last;
    for (let index = this.#first; index < last; index += OFFSETS_PER_LINE) {
      if (this.#isAt(name, offsets[index] as number, offsets[index + 1] as number)) return index;
    }
    return -1;
  }
}

/** Whether the name is the same in an encoded header line, as most are: ASCII, and nothing to escape. */
function isPlain(name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if (code > 127 || code === COLON || code === BACKSLASH || code === LF || code === CR) return false;
  }
  return true;
}

/** The name as it is encoded in a header line, one character for each byte. */
function asWritten(name: string): string {
  return String.fromCharCode(...bytesOf(escapeHeader(name, '1.2')));
}
