import { MusterError } from '../errors.js';
import { bytesOf, copyOf } from '../stomp/bytes.js';
import { concat, headerLine, headerLines } from '../stomp/encode.js';
import { EMPTY_BODY, type Headers } from '../stomp/frame.js';
import type { SourceKind } from './access.js';

/** Who publishes an event: organization, source and kind, as header lines that are encoded once for many events. */
export class Origin {
  /** Name of the organization. */
  readonly org: string;
  /** `ORG/NAME` */
  readonly source: string;
  /** What the name in the source is the name of. */
  readonly kind: SourceKind;
  readonly #lines: string;
  /** The time that `#rootLines` are for: most events have the same millisecond as the one before. */
  #atMs = Number.NaN;
  #rootLines: Uint8Array = EMPTY_BODY;

  constructor(org: string, source: string, kind: SourceKind) {
    this.org = org;
    this.source = source;
    this.kind = kind;
    this.#lines = headerLines([
      ['org', org],
      ['source', source],
      ['source-kind', kind],
    ]);
  }

  /** The header lines that the root adds after the position: `org`, `source`, `source-kind` and `time`. */
  rootLines(atMs: number): Uint8Array {
    if (atMs !== this.#atMs) {
      this.#atMs = atMs;
      this.#rootLines = bytesOf(`\n${this.#lines}${headerLine('time', timeOf(atMs))}`);
    }
    return this.#rootLines;
  }
}

/** The value of the header `time`. */
export function timeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

/**
 * An event that was checked and has no position yet. Attributes and body are where they were received, so that
 * nothing is copied between parsing and delivery; make others with `newEvent`.
 */
export interface NewEvent {
  readonly origin: Origin;
  /** Must not be changed while anybody may still read the event. */
  readonly bytes: Uint8Array;
  /**
   * Header lines of the attributes (`type` among them) and `content-type`, in the publisher's order, escaped as in
   * STOMP 1.2, each with its LF.
   */
  readonly linesStart: number;
  readonly linesEnd: number;
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /**
   * Set when the received bytes from `linesStart` up to here can be delivered as they are: the header lines, the
   * content-length, a blank line, the body and a NUL. Most events are received so.
   */
  readonly tailEnd?: number | undefined;
  /**
   * Offsets of the header lines, as the parser has found them, if all lines are ASCII without escapes: the entries from
   * `headerOffsetsStart` to `headerOffsetsEnd`, three for each line, as in `RawFrame.headerOffsets`.
   */
  readonly headerOffsets?: Int32Array | undefined;
  readonly headerOffsetsStart?: number;
  readonly headerOffsetsEnd?: number;
}

/** An event with its place in the log. */
export interface LoggedEvent {
  /** Its `message-id`: greater than that of every event stored before it. */
  readonly position: number;
  /** Its `time`, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The event as its publisher sent it. */
  readonly event: NewEvent;
}

/** @param source `ORG/NAME`, the organization's name first. */
export function originOf(org: string, source: string, kind: SourceKind): Origin {
  return new Origin(org, source, kind);
}

/**
 * @param attributes in order, `type` among them; unescaped.
 * @throws MusterError `stomp_invalid_frame` for a NUL in an attribute, which nothing can express.
 */
export function newEvent(origin: Origin, attributes: Headers, body: Uint8Array): NewEvent {
  const lines = headerLines(attributes);
  if (lines.includes('\0')) {
    throw new MusterError('stomp_invalid_frame', { command: 'SEND', reason: 'has a NUL in a header' });
  }
  return newEventOf(origin, bytesOf(lines), body);
}

/** The same from header lines that are escaped already, such as those `linesOf` gave. */
export function newEventOf(origin: Origin, lines: Uint8Array, body: Uint8Array): NewEvent {
  const bytes = concat([lines, body]);
  return {
    origin,
    bytes,
    linesStart: 0,
    linesEnd: lines.length,
    bodyStart: lines.length,
    bodyEnd: bytes.length,
  };
}

/** A copy. */
export function linesOf(event: NewEvent): Uint8Array {
  return copyOf(event.bytes, event.linesStart, event.linesEnd);
}

/** A copy. */
export function bodyOf(event: NewEvent): Uint8Array {
  return copyOf(event.bytes, event.bodyStart, event.bodyEnd);
}
