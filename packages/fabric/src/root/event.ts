import { MusterError } from '@muster/wire';
import { bytesOf, copyOf } from '../stomp/bytes.js';
import { concat, headerLine, headerLines } from '../stomp/encode.js';
import { EMPTY_BODY, type Headers } from '../stomp/frame.js';

/** Who publishes. Made once for many events. */
export class Origin {
  /** Name of the organization. */
  readonly org: string;
  /** `ORG/NAME` */
  readonly source: string;
  readonly #lines: string;
  /** Most events are of the same time as the one before. */
  #atMs = Number.NaN;
  #said: Uint8Array = EMPTY_BODY;

  constructor(org: string, source: string) {
    this.org = org;
    this.source = source;
    this.#lines = headerLines([
      ['org', org],
      ['source', source],
    ]);
  }

  /** What the root says of an event of that time after its position, up to the publisher's own lines. */
  said(atMs: number): Uint8Array {
    if (atMs !== this.#atMs) {
      this.#atMs = atMs;
      this.#said = bytesOf(`\n${this.#lines}${headerLine('time', timeOf(atMs))}`);
    }
    return this.#said;
  }
}

/** Header `time`. */
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
   * Set when the bytes from `linesStart` up to here are the rest of a tail as they are: the lines, the content-length,
   * a blank line, the body and a NUL. Most are received so.
   */
  readonly tailEnd?: number | undefined;
  /**
   * Where each of the lines is, if somebody has found out and all of them are ASCII without escapes: from `spansStart`
   * to `spansEnd`, three for each line, as in `RawFrame`.
   */
  readonly spans?: Int32Array | undefined;
  readonly spansStart?: number;
  readonly spansEnd?: number;
}

/** An event with its place in the log. */
export interface LoggedEvent {
  /** Its `message-id`: greater than that of every event stored before it. */
  readonly position: number;
  /** Its `time`, in milliseconds since the epoch. */
  readonly atMs: number;
  /** As it travels. */
  readonly event: NewEvent;
}

/** @param source `ORG/NAME`, the organization's name first. */
export function originOf(org: string, source: string): Origin {
  return new Origin(org, source);
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
