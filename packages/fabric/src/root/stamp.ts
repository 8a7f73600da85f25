import { allocate, bytesOf } from '../stomp/bytes.js';
import { copyInto } from '../stomp/copy.js';
import { headerLine } from '../stomp/encode.js';
import type { LoggedEvent, NewEvent, Origin } from './event.js';

/** Where events are sent to and come from; there is no other. */
export const EVENTS_DESTINATION = '/topic/events';

const BEFORE_POSITION = bytesOf(`destination:${EVENTS_DESTINATION}\nmessage-id:`);
const CONTENT_LENGTH = bytesOf('content-length:');
const LF = 10;
const ZERO = 48;
/** Digits of the greatest safe integer. */
const MOST_DIGITS = 16;

/**
 * Gives events their positions, `first` and those that follow, and their time: makes their tails, one after the other
 * in one buffer.
 */
export function stamp(events: readonly NewEvent[], first: number, atMs: number): LoggedEvent[] {
  const time = bytesOf(headerLine('time', new Date(atMs).toISOString()));
  const bytes = allocate(events.reduce((size, event) => size + most(event, time.length), 0));
  const stamped: LoggedEvent[] = [];
  let at = 0;
  let position = first;
  // What the root says of an event differs from the one before in the position only, if they have the same origin.
  let origin: Origin | null = null;
  let digits = 0;
  let said = 0;
  let saidSize = 0;
  for (const event of events) {
    const start = at;
    const needed = countDigits(position);
    if (event.origin === origin && needed === digits) {
      bytes.copyWithin(at, said, said + saidSize);
      putNumber(bytes, at + BEFORE_POSITION.length, position, digits);
      at += saidSize;
    } else {
      at = copyInto(bytes, at, BEFORE_POSITION, 0, BEFORE_POSITION.length);
      at = putNumber(bytes, at, position, needed);
      bytes[at++] = LF;
      at = copyInto(bytes, at, event.origin.lines, 0, event.origin.lines.length);
      at = copyInto(bytes, at, time, 0, time.length);
      ({ origin } = event);
      digits = needed;
      said = start;
      saidSize = at - start;
    }
    const linesStart = at;
    at =
      event.tailEnd === undefined
        ? putRest(bytes, at, event)
        : copyInto(bytes, at, event.bytes, event.linesStart, event.tailEnd);
    stamped.push({ position, org: event.origin.org, atMs, bytes, start, end: at, linesStart });
    position += 1;
  }
  return stamped;
}

function putRest(bytes: Uint8Array, from: number, event: NewEvent): number {
  const bodySize = event.bodyEnd - event.bodyStart;
  let at = copyInto(bytes, from, event.bytes, event.linesStart, event.linesEnd);
  at = copyInto(bytes, at, CONTENT_LENGTH, 0, CONTENT_LENGTH.length);
  at = putNumber(bytes, at, bodySize, countDigits(bodySize));
  bytes[at++] = LF;
  bytes[at++] = LF;
  at = copyInto(bytes, at, event.bytes, event.bodyStart, event.bodyEnd);
  bytes[at++] = 0;
  return at;
}

/** No tail is longer than this. */
function most({ origin, linesStart, linesEnd, bodyStart, bodyEnd }: NewEvent, time: number): number {
  const fixed = BEFORE_POSITION.length + CONTENT_LENGTH.length + 2 * MOST_DIGITS + 4;
  return fixed + origin.lines.length + time + (linesEnd - linesStart) + (bodyEnd - bodyStart);
}

export function countDigits(number: number): number {
  let digits = 1;
  for (let rest = number; rest >= 10; rest = Math.floor(rest / 10)) digits += 1;
  return digits;
}

function putNumber(into: Uint8Array, at: number, number: number, digits: number): number {
  let rest = number;
  for (let place = at + digits - 1; place >= at; place--) {
    into[place] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return at + digits;
}
