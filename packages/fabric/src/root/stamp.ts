import { allocate, bytesOf } from '../stomp/bytes.js';
import { copyInto } from '../stomp/copy.js';
import { concat } from '../stomp/encode.js';
import type { LoggedEvent, NewEvent } from './event.js';

/** Where events are sent to and come from; there is no other. */
export const EVENTS_DESTINATION = '/topic/events';

/** How every tail begins. */
export const BEFORE_POSITION: Uint8Array = bytesOf(`destination:${EVENTS_DESTINATION}\nmessage-id:`);
const ZERO = 48;
const GREATEST_INT32 = 0x7fffffff;

/**
 * The tail of an event: the bytes of its MESSAGE that are the same for every subscriber, from the line `destination` to
 * the NUL. The root has never put it together before somebody wants it.
 */
export interface Tail {
  readonly position: number;
  /** What the root says of the event after its position. Empty: it is among the bytes, with all before it. */
  readonly said: Uint8Array;
  /** The rest: the publisher's own lines, content-length, blank line, body and NUL. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Bytes of a tail before the rest. */
export function sizeOfOpening({ position, said }: Tail): number {
  return said.length === 0 ? 0 : BEFORE_POSITION.length + countDigits(position) + said.length;
}

/** @returns where the rest may go. */
export function putOpening(into: Uint8Array, at: number, { position, said }: Tail): number {
  if (said.length === 0) return at;
  const digits = copyInto(into, at, BEFORE_POSITION, 0, BEFORE_POSITION.length);
  return copyInto(into, putNumber(into, digits, position), said, 0, said.length);
}

/** In memory of its own. */
export function bytesOfTail(tail: Tail): Uint8Array {
  const { bytes, start, end } = tail;
  const made = allocate(sizeOfOpening(tail) + end - start);
  copyInto(made, putOpening(made, 0, tail), bytes, start, end);
  return made;
}

/** The tail of an event that is in the log, in memory of its own. */
export function stamp({ position, atMs, event }: LoggedEvent): Uint8Array {
  return bytesOfTail({ position, said: event.origin.said(atMs), ...restOf(event) });
}

type Rest = Pick<Tail, 'bytes' | 'start' | 'end'>;

/** Where it is as it was received, or else put together. */
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

/** Writes decimal digits. @returns where the next may go. */
export function putNumber(into: Uint8Array, at: number, number: number): number {
  const end = at + countDigits(number);
  let place = end - 1;
  let rest = number;
  for (; rest > GREATEST_INT32; rest = Math.floor(rest / 10)) into[place--] = ZERO + (rest % 10);
  // Most numbers are small, and dividing them is a good deal cheaper.
  for (let small = rest | 0; place >= at; small = (small / 10) | 0) into[place--] = ZERO + (small % 10);
  return end;
}
