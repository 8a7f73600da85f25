import { EVENTS_DESTINATION } from '../root/stamp.js';
import { type Frame, frame } from '../stomp/frame.js';
import type { RawFrame } from '../stomp/raw-frame.js';

/** Id of the one subscription that a relay makes for itself. */
export const MATCH_ALL = 'all';
const LINE = Uint8Array.from(`subscription:${MATCH_ALL}`, (char) => char.charCodeAt(0));

/** B-1: without a selector it matches everything. */
export function subscribeToAll(receipt: string): Frame {
  return frame('SUBSCRIBE', [
    ['id', MATCH_ALL],
    ['destination', EVENTS_DESTINATION],
    ['ack', 'auto'],
    ['receipt', receipt],
  ]);
}

/**
 * Where the tail of an event begins, if it came by that subscription and is written as our own roots and relays write
 * it: after the first line. Found without decoding. -1: it is something else, or written in another way.
 */
export function tailOfAll({ bytes, headerCount, spans }: RawFrame): number {
  const start = spans[0] as number;
  if (headerCount < 2 || (spans[2] as number) - start !== LINE.length) return -1;
  for (let index = 0; index < LINE.length; index++) if (bytes[start + index] !== LINE[index]) return -1;
  return spans[3] as number;
}
