import { allocate, bytesOf, copyInto } from '../stomp/bytes.js';
import { concat } from '../stomp/encode.js';
import type { LoggedEvent, NewEvent } from './event.js';

/** The only destination of events. */
export const EVENTS_DESTINATION = '/topic/events';

/** How the tail of every event begins; the position follows. */
export const STAMP_START: Uint8Array = bytesOf(`destination:${EVENTS_DESTINATION}\nmessage-id:`);
const ZERO = 48;
const GREATEST_INT32 = 0x7fffffff;

/**
 * The tail of an event: the bytes of its MESSAGE that are the same for every subscriber, from the header `destination`
 * to the NUL. It is a stamp, which the root makes (destination, position, organization, source, its kind, time), and the rest,
 * which the publisher has sent. They are written straight into the outbound memory, and not put together before.
 */
export interface Tail {
  readonly position: number;
  /**
   * The stamp's header lines after the position. Empty: the stamp is among `bytes`, as the event came from upstream.
   */
  readonly rootLines: Uint8Array;
  /** The rest: the publisher's own lines, content-length, blank line, body and NUL. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Size of the stamp, in bytes. */
export function stampSize({ position, rootLines }: Tail): number {
  return rootLines.length === 0 ? 0 : STAMP_START.length + countDigits(position) + rootLines.length;
}

/** Writes the stamp. @returns the offset after it. */
export function putStamp(into: Uint8Array, at: number, { position, rootLines }: Tail): number {
  if (rootLines.length === 0) return at;
  const digits = copyInto(into, at, STAMP_START, 0, STAMP_START.length);
  return copyInto(into, putNumber(into, digits, position), rootLines, 0, rootLines.length);
}

/** A copy of the whole tail. */
export function bytesOfTail(tail: Tail): Uint8Array {
  const { bytes, start, end } = tail;
  const made = allocate(stampSize(tail) + end - start);
  copyInto(made, putStamp(made, 0, tail), bytes, start, end);
  return made;
}

/** A copy of the tail of an event that is in the log. */
export function stamp({ position, atMs, event }: LoggedEvent): Uint8Array {
  return bytesOfTail({ position, rootLines: event.origin.rootLines(atMs), ...restOf(event) });
}

type Rest = Pick<Tail, 'bytes' | 'start' | 'end'>;

/** The rest of a tail: where it was received, or else a copy put together. */
export function restOf({ bytes, linesStart, linesEnd, bodyStart, bodyEnd, tailEnd }: NewEvent): Rest {
  if (tailEnd !== undefined) return { bytes, start: linesStart, end: tailEnd };
  const between = bytesOf(`content-length:${bodyEnd - bodyStart}\n\n`);
  const rest = concat([bytes.subarray(linesStart, linesEnd), between, bytes.subarray(bodyStart, bodyEnd), NUL]);
  return { bytes: rest, start: 0, end: rest.length };
}

const NUL = Uint8Array.of(0);

export function countDigits(number: number): number {
  let digits = 1;
  for (let next = 10; number >= next; next *= 10) digits += 1;
  return digits;
}

/** Writes decimal digits. @returns the offset after them. */
export function putNumber(into: Uint8Array, at: number, number: number): number {
  const end = at + countDigits(number);
  let place = end - 1;
  let rest = number;
  for (; rest > GREATEST_INT32; rest = Math.floor(rest / 10)) into[place--] = ZERO + (rest % 10);
  // Most numbers are small, and dividing them is a good deal cheaper.
  for (let small = rest | 0; place >= at; small = (small / 10) | 0) into[place--] = ZERO + (small % 10);
  return end;
}
