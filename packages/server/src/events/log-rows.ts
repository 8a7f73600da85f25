import type { NewEvent } from '@muster/fabric';
import { type EventFrame, type EventPart, placeEvent, sizeOfEvent, writeEvent } from '@muster/store';

/** An event on its way into the log. */
export interface Recordable {
  readonly orgId: string;
  /** The push job whose feed shows it; null: none. */
  readonly subject: string | null;
  readonly event: NewEvent;
  /** Where it stands as the log will hold it, if it was made so. Then it is recorded only once. */
  readonly frame?: EventFrame;
}

/** Of one part, before those of one transaction are put together. */
const PART_BYTES = 1_048_576;

/** What goes into the log for these events, which get the positions from `first` on. */
export function partsOf(events: readonly Recordable[], first: number, at: number): EventPart[] {
  const parts: EventPart[] = [];
  for (let index = 0; index < events.length; ) {
    const { orgId: org_id, subject, frame } = events[index] as Recordable;
    const position = first + index;
    if (frame !== undefined) {
      const { bytes: frames, start, end } = frame;
      placeEvent(frames, start, { position, at });
      parts.push({ first: position, last: position, at, org_id, subject, frames, start, end });
      index += 1;
    } else {
      const { next, bytes } = extentOf(events, index);
      const frames = framesOf(events.slice(index, next), bytes, position, at);
      parts.push({ first: position, last: first + next - 1, at, org_id, subject, frames, start: 0, end: bytes });
      index = next;
    }
  }
  return parts;
}

/** Neighbours of one organization and subject share a part. */
function extentOf(events: readonly Recordable[], start: number): { readonly next: number; readonly bytes: number } {
  const { orgId, subject } = events[start] as Recordable;
  let bytes = 0;
  for (let next = start; next < events.length; next++) {
    const recorded = events[next] as Recordable;
    const size = sizeOfEvent(recorded.event.origin.source, recorded.event);
    const apart = recorded.orgId !== orgId || recorded.subject !== subject || recorded.frame !== undefined;
    if (next > start && (apart || bytes + size > PART_BYTES)) return { next, bytes };
    bytes += size;
  }
  return { next: events.length, bytes };
}

function framesOf(events: readonly Recordable[], bytes: number, first: number, at: number): Buffer {
  const frames = Buffer.allocUnsafeSlow(bytes);
  let offset = 0;
  for (const [index, { event }] of events.entries()) {
    offset = writeEvent(frames, offset, { position: first + index, at, source: event.origin.source }, event);
  }
  return frames;
}
