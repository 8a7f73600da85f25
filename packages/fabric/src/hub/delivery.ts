import type { TextAttributes } from '@muster/selector';
import { type LoggedEvent, timeOf } from '../root/event.js';
import { bytesOfTail, EVENTS_DESTINATION, restOf, type Tail } from '../root/stamp.js';
import { bytesOf, textOf } from '../stomp/bytes.js';
import { escapeHeader, unescapeHeader } from '../stomp/escape.js';
import { EMPTY_BODY, type StompVersion } from '../stomp/frame.js';
import { tailFor } from '../stomp/message.js';
import type { RawFrame } from '../stomp/raw-frame.js';

/** Events shown by all deliveries. */
let shown = 0;

const LF = 10;
const CR = 13;
const COLON = 58;
const BACKSLASH = 92;

/** Numbers for each line. */
const SPAN = 3;
const USUAL_LINES = 32;
/** Names whose last value is kept. */
const KNOWN_NAMES = 8;

/** 1: the scan must look at it. */
const SPECIAL = new Uint8Array(256).fill(1, 128);
for (const byte of [LF, COLON, BACKSLASH]) SPECIAL[byte] = 1;

/**
 * An event on its way to those it is for: its tail, and its headers as selectors ask for them. There is one of these for
 * all events of a hub, shown one after the other; it is valid during the call it is given to.
 *
 * Nothing of the lines is looked at before somebody asks.
 */
export class Delivery implements TextAttributes, Tail {
  bytes: Uint8Array = EMPTY_BODY;
  start = 0;
  end = 0;
  said: Uint8Array = EMPTY_BODY;
  /** Its `message-id`. */
  position = 0;
  /** No other event, of whatever delivery, has the same. */
  serial = 0;
  /** Null: the root's lines are among the others. */
  #logged: LoggedEvent | null = null;
  readonly #lines = new Lines();
  #older: OlderTail | null = null;
  /** What was asked for last: selectors that are alike ask for the same again and again. */
  #name: string | null = null;
  #value: string | undefined = undefined;

  /** An event of our own log. */
  show(logged: LoggedEvent): void {
    const { event, position, atMs } = logged;
    this.#next(position);
    this.#logged = logged;
    this.said = event.origin.said(atMs);
    if (event.tailEnd === undefined) this.#rest(restOf(event));
    else {
      this.bytes = event.bytes;
      this.start = event.linesStart;
      this.end = event.tailEnd;
    }
    const { bytes, linesStart, linesEnd, spans, spansStart = 0, spansEnd = 0 } = event;
    this.#lines.are(bytes, linesStart, linesEnd);
    if (spans !== undefined) this.#lines.areAt(spans, spansStart, spansEnd, true, false);
  }

  /** One that comes from upstream. @param raw Its frame, if the tail is all of it but the first header. */
  showTail(bytes: Uint8Array, start: number, end: number, position: number, raw: RawFrame | null = null): void {
    this.#next(position);
    this.#logged = null;
    this.said = EMPTY_BODY;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#lines.are(bytes, start, raw?.headEnd ?? end);
    if (raw !== null) this.#lines.areAt(raw.spans, SPAN, SPAN * raw.headerCount, raw.ascii, raw.escaped);
  }

  /** Value of the first header of that name; selectors see all but the content-length. */
  get(name: string): string | undefined {
    if (name === this.#name) return this.#value;
    this.#name = name;
    this.#value = this.#look(name);
    return this.#value;
  }

  /** The tail for clients of a version: mostly the same. */
  tail(version: StompVersion): Tail {
    if (version === '1.2') return this;
    // Few clients are that old, and fewer of two ages.
    if (this.#older?.version === version) return this.#older;
    const bytes = tailFor(bytesOfTail(this), version);
    this.#older = { position: this.position, said: EMPTY_BODY, bytes, start: 0, end: bytes.length, version };
    return this.#older;
  }

  #next(position: number): void {
    this.position = position;
    this.serial = ++shown;
    this.#older = null;
    this.#name = null;
  }

  #rest({ bytes, start, end }: Pick<Tail, 'bytes' | 'start' | 'end'>): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  #look(name: string): string | undefined {
    if (name === 'content-length') return undefined;
    const value = this.#lines.get(name);
    return value === undefined && this.#logged !== null ? ofRoot(this.#logged, name) : value;
  }
}

/** What only the root says of an event. */
function ofRoot({ position, atMs, event }: LoggedEvent, name: string): string | undefined {
  switch (name) {
    case 'destination':
      return EVENTS_DESTINATION;
    case 'message-id':
      return String(position);
    case 'org':
      return event.origin.org;
    case 'source':
      return event.origin.source;
    case 'time':
      return timeOf(atMs);
    default:
      return undefined;
  }
}

interface OlderTail extends Tail {
  readonly version: StompVersion;
}

/** Some header lines. */
class Lines {
  #bytes: Uint8Array = EMPTY_BODY;
  #start = 0;
  #end = 0;
  /** Where each of them is, from `#first` to `#last`: where it begins, its colon, where its value ends. */
  #spans: Int32Array | null = null;
  #first = 0;
  #last = 0;
  /** For those that nobody has found before. */
  #found: Int32Array = new Int32Array(SPAN * USUAL_LINES);
  #ascii = true;
  #escaped = false;
  #text: string | null = null;
  /** What some names had last: one publisher says the same again and again, and comparing is cheaper than decoding. */
  readonly #known: { readonly name: string; value: string }[] = [];
  #oldest = 0;

  /** @param end Where they end, unless there is a blank line before. */
  are(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#spans = null;
    this.#text = null;
  }

  /** They were found before. */
  areAt(spans: Int32Array, first: number, last: number, ascii: boolean, escaped: boolean): void {
    this.#spans = spans;
    this.#first = first;
    this.#last = last;
    this.#ascii = ascii;
    this.#escaped = escaped;
  }

  get(name: string): string | undefined {
    const spans = this.#spans ?? this.#scan();
    const plain = (this.#ascii && !this.#escaped) || isPlain(name);
    const found = this.#find(spans, plain ? name : asWritten(name));
    if (found < 0) return undefined;
    const from = (spans[found + 1] as number) + 1;
    const to = spans[found + 2] as number;
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
    let spans = this.#found;
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
        if (count === spans.length) spans = this.#more();
        spans[count] = line;
        spans[count + 1] = colon;
        spans[count + 2] = at;
        count += SPAN;
        line = at + 1;
        colon = -1;
      } else if (byte === BACKSLASH) escaped = true;
      else ascii = false;
    }
    this.#end = line;
    this.areAt(spans, 0, count, ascii, escaped);
    return spans;
  }

  #more(): Int32Array {
    const more = new Int32Array(2 * this.#found.length);
    more.set(this.#found);
    this.#found = more;
    return more;
  }

  /** One decoding of ASCII lines serves all of them: cheaper than one for each. */
  #read(from: number, to: number): string {
    if (!this.#ascii) return textOf(this.#bytes, from, to);
    this.#text ??= textOf(this.#bytes, this.#start, this.#end, true);
    return this.#text.substring(from - this.#start, to - this.#start);
  }

  /** @param name each character is a byte. */
  #find(spans: Int32Array, name: string): number {
    const last = this.#last;
    for (let index = this.#first; index < last; index += SPAN) {
      if (this.#isAt(name, spans[index] as number, spans[index + 1] as number)) return index;
    }
    return -1;
  }
}

/** Whether the name is written as it is, as most are. */
function isPlain(name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if (code > 127 || code === COLON || code === BACKSLASH || code === LF || code === CR) return false;
  }
  return true;
}

/** A name as its bytes are found, one character each. */
function asWritten(name: string): string {
  return String.fromCharCode(...bytesOf(escapeHeader(name, '1.2')));
}
