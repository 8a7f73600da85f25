import { EVENTS_DESTINATION } from '../root/stamp.js';
import { bytesOf } from '../stomp/bytes.js';

const BEFORE = bytesOf(`destination:${EVENTS_DESTINATION}\nmessage-id:`);
const LF = 10;
const ZERO = 48;
/** Digits of the greatest safe integer. */
const MOST_DIGITS = 16;

/**
 * The position of an event, which stands at the same place in every tail that a Muster root made: found without decoding
 * anything. Null for those of other brokers.
 */
export function positionOf(bytes: Uint8Array, start: number): number | null {
  for (let index = 0; index < BEFORE.length; index++) if (bytes[start + index] !== BEFORE[index]) return null;
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
