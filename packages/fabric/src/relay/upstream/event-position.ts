import { EVENTS_DESTINATION } from '../../event/tail.js';
import { bytesOf } from '../../stomp/bytes.js';

const BEFORE = bytesOf(`destination:${EVENTS_DESTINATION}\nmessage-id:`);
const MARKER = bytesOf(`destination:${EVENTS_DESTINATION}\nmessage-id:dropped-`);
const LF = 10;
const ZERO = 48;
/** Digits of the greatest safe integer. */
const MOST_DIGITS = 16;

/**
 * The position of an event, which stands at the same place in every tail that a Muster root made: found without
 * decoding anything. Null for those of other brokers.
 */
export function positionOf(bytes: Uint8Array, start: number): number | null {
  if (!startsWith(bytes, start, BEFORE)) return null;
  let position = 0;
  const first = start + BEFORE.length;
  for (let at = first; at < first + MOST_DIGITS; at++) {
    const byte = bytes[at] as number;
    if (byte === LF) return at === first ? null : position;
    const digit = byte - ZERO;
    if (digit < 0 || digit > 9) return null;
    position = position * 10 + digit;
  }
  return null;
}

/**
 * Whether it is no event but a note that some may be missing. The broker makes the `message-id`, so nobody can publish
 * one.
 */
export function isMarker(bytes: Uint8Array, start: number): boolean {
  return startsWith(bytes, start, MARKER);
}

function startsWith(bytes: Uint8Array, start: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) if (bytes[start + index] !== expected[index]) return false;
  return true;
}
