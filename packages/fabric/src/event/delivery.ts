import type { TextAttributes } from '@muster/selector';
import { EMPTY_BODY, type StompVersion } from '../stomp/frame.js';
import { tailFor } from '../stomp/message.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { type LoggedEvent, timeOf } from './event.js';
import { HeaderLines, OFFSETS_PER_LINE } from './header-lines.js';
import { bytesOfTail, EVENTS_DESTINATION, restOf, type Tail } from './tail.js';

/** How many events all deliveries together have been made to show: numbers them. */
let shown = 0;

/**
 * An event while it is delivered: the bytes that every subscriber gets (`Tail`), and its headers for selectors to ask.
 * A hub has one `Delivery`, which shows one event after the other, so that delivering allocates nothing: it is valid
 * only during the call that it is passed to. Header lines are not decoded before a selector asks for one.
 */
export class Delivery implements TextAttributes, Tail {
  bytes: Uint8Array = EMPTY_BODY;
  start = 0;
  end = 0;
  rootLines: Uint8Array = EMPTY_BODY;
  /** Its `message-id`. */
  position = 0;
  /** Differs from that of every event shown before, by this or another delivery. */
  serial = 0;
  /** The event in our own log; null: it came from upstream, and the root's header lines are among the others. */
  #logged: LoggedEvent | null = null;
  readonly #lines = new HeaderLines();
  #olderTail: OlderTail | null = null;
  /** The header that was asked for last, and its value: similar selectors ask for the same one after the other. */
  #name: string | null = null;
  #value: string | undefined = undefined;

  /** Shows an event of our own log. */
  show(logged: LoggedEvent): void {
    const { event, position, atMs } = logged;
    this.#next(position);
    this.#logged = logged;
    this.rootLines = event.origin.rootLines(atMs);
    if (event.tailEnd === undefined) this.#rest(restOf(event));
    else {
      this.bytes = event.bytes;
      this.start = event.linesStart;
      this.end = event.tailEnd;
    }
    const { bytes, linesStart, linesEnd, headerOffsets, headerOffsetsStart = 0, headerOffsetsEnd = 0 } = event;
    this.#lines.show(bytes, linesStart, linesEnd);
    if (headerOffsets !== undefined)
      this.#lines.showAt(headerOffsets, headerOffsetsStart, headerOffsetsEnd, true, false);
  }

  /**
   * Shows an event that came from upstream. @param raw Its frame, if the tail is all of the frame but its first header.
   */
  showTail(bytes: Uint8Array, start: number, end: number, position: number, raw: RawFrame | null = null): void {
    this.#next(position);
    this.#logged = null;
    this.rootLines = EMPTY_BODY;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#lines.show(bytes, start, raw?.headEnd ?? end);
    if (raw !== null)
      this.#lines.showAt(
        raw.headerOffsets,
        OFFSETS_PER_LINE,
        OFFSETS_PER_LINE * raw.headerCount,
        raw.ascii,
        raw.escaped,
      );
  }

  /** Value of the first header of that name; selectors see all but the content-length. */
  get(name: string): string | undefined {
    if (name === this.#name) return this.#value;
    this.#name = name;
    this.#value = this.#valueOf(name);
    return this.#value;
  }

  /** The tail for clients that speak that version of STOMP: in most cases the same bytes. */
  tail(version: StompVersion): Tail {
    if (version === '1.2') return this;
    // Few clients speak an older version, and hardly ever do two speak different ones: one tail is remembered.
    if (this.#olderTail?.version === version) return this.#olderTail;
    const bytes = tailFor(bytesOfTail(this), version);
    this.#olderTail = { position: this.position, rootLines: EMPTY_BODY, bytes, start: 0, end: bytes.length, version };
    return this.#olderTail;
  }

  #next(position: number): void {
    this.position = position;
    this.serial = ++shown;
    this.#olderTail = null;
    this.#name = null;
  }

  #rest({ bytes, start, end }: Pick<Tail, 'bytes' | 'start' | 'end'>): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  #valueOf(name: string): string | undefined {
    if (name === 'content-length') return undefined;
    const value = this.#lines.get(name);
    return value === undefined && this.#logged !== null ? stampedValue(this.#logged, name) : value;
  }
}

/** The value of a header that the root adds, which is not among the publisher's header lines. */
function stampedValue({ position, atMs, event }: LoggedEvent, name: string): string | undefined {
  switch (name) {
    case 'destination':
      return EVENTS_DESTINATION;
    case 'message-id':
      return String(position);
    case 'org':
      return event.origin.org;
    case 'source':
      return event.origin.source;
    case 'source-kind':
      return event.origin.kind;
    case 'time':
      return timeOf(atMs);
    default:
      return undefined;
  }
}

interface OlderTail extends Tail {
  readonly version: StompVersion;
}
