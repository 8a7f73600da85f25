import { EVENTS_DESTINATION } from '../../event/tail.js';
import { type Frame, frame } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';

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
 * Offset of an event's tail in a MESSAGE of the match-all subscription: after the first header line, if that is
 * `subscription`, as Muster's roots and relays write it. Nothing is decoded. -1: another MESSAGE, or written otherwise.
 */
export function matchAllTailStart({ bytes, headerCount, headerOffsets }: RawFrame): number {
  const start = headerOffsets[0] as number;
  if (headerCount < 2 || (headerOffsets[2] as number) - start !== LINE.length) return -1;
  for (let index = 0; index < LINE.length; index++) if (bytes[start + index] !== LINE[index]) return -1;
  return headerOffsets[3] as number;
}
