import { EMPTY_BODY, type LoggedEvent, type NewEvent, newEventOf } from '@muster/fabric';
import type { Recordable } from './log-rows.js';

/** Attribute of an event of Muster's own that was too large to travel: it came without its body, which had so many bytes. */
const OVERSIZE = 'oversize';

/** An event with its place in the log. */
export interface StoredEvent extends LoggedEvent {
  readonly orgId: string;
  readonly subject: string | null;
  /** As it was recorded; what travels may be without its body. */
  readonly recorded: NewEvent;
}

/** @param maxSize of lines and body of an event together, as it travels. */
export function storedEvents(
  events: readonly Recordable[],
  first: number,
  atMs: number,
  maxSize: number,
): StoredEvent[] {
  return events.map(({ orgId, subject, event: recorded }, index) => {
    const event = withinSize(recorded, maxSize);
    return { position: first + index, atMs, event, orgId, subject, recorded };
  });
}

/** Bytes of lines and body. */
export function sizeOf({ linesStart, linesEnd, bodyStart, bodyEnd }: NewEvent): number {
  return linesEnd - linesStart + bodyEnd - bodyStart;
}

/** The event as it travels: nobody on the way need be ready for more bytes than are agreed. */
export function withinSize(event: NewEvent, maxSize: number): NewEvent {
  if (sizeOf(event) <= maxSize) return event;
  const { bytes, linesStart, linesEnd, bodyStart, bodyEnd } = event;
  const said = Buffer.from(`${OVERSIZE}:${bodyEnd - bodyStart}\n`);
  return newEventOf(event.origin, Buffer.concat([bytes.subarray(linesStart, linesEnd), said]), EMPTY_BODY);
}
