import type { NewEvent, Origin } from '@muster/fabric';
import { type EventFrame, type EventPart, placeRun, sizeOfEvent, sizeOfRun, writeRun } from './event-chunk.js';

/** An event on its way into the log. */
export interface Recordable {
  readonly orgId: string;
  /** Whose feed shows it, such as `push/ID`; null: none. */
  readonly subject: string | null;
  readonly event: NewEvent;
  /** Where it stands as the log will hold it, if it was made so. Then it is recorded only once. */
  readonly frame?: EventFrame;
}

/** Of one part, before those of one transaction are put together. */
const PART_BYTES = 1_048_576;

/** What goes into the log for these events. */
export function partsOf(events: readonly Recordable[], at: number): EventPart[] {
  const parts: EventPart[] = [];
  for (let index = 0; index < events.length; ) {
    const { orgId: org_id, subject, frame } = events[index] as Recordable;
    if (frame !== undefined) {
      const { bytes: frames, start } = frame;
      const { next, end } = placeRuns(events, index, at);
      parts.push({ count: next - index, at, org_id, subject, frames, start, end });
      index = next;
    } else {
      const { next, bytes } = extentOf(events, index);
      const contents = events.slice(index, next).map(({ event }) => event);
      const frames = framesOf(contents, bytes, at);
      parts.push({ count: next - index, at, org_id, subject, frames, start: 0, end: bytes });
      index = next;
    }
  }
  return parts;
}

/** Neighbours of one organization and subject, made one after the other, stand one behind the other as they are. */
function placeRuns(events: readonly Recordable[], index: number, at: number): { next: number; end: number } {
  const { orgId, subject, frame: first } = events[index] as Recordable & { frame: EventFrame };
  let end = first.start;
  for (let next = index; ; next++) {
    const event = events[next];
    const frame = event?.frame;
    const apart = frame?.bytes !== first.bytes || frame.start !== end || event?.orgId !== orgId;
    if (frame === undefined || apart || event?.subject !== subject) return { next, end };
    placeRun(frame.bytes, frame.start, { place: next - index, at });
    end = frame.end;
  }
}

interface Extent {
  readonly next: number;
  readonly bytes: number;
}

/** Neighbours of one organization and subject share a part, and those of one source a run in it. */
function extentOf(events: readonly Recordable[], start: number): Extent {
  const { orgId, subject } = events[start] as Recordable;
  let bytes = 0;
  let before: Origin | null = null;
  for (let next = start; next < events.length; next++) {
    const recorded = events[next] as Recordable;
    const { event } = recorded;
    const same = before !== null && isSame(event.origin, before);
    const size = sizeOfEvent(event) + (same ? 0 : sizeOfRun(event.origin.source));
    const apart = recorded.orgId !== orgId || recorded.subject !== subject || recorded.frame !== undefined;
    if (next > start && (apart || bytes + size > PART_BYTES)) return { next, bytes };
    before = event.origin;
    bytes += size;
  }
  return { next: events.length, bytes };
}

function isSame(one: Origin, other: Origin): boolean {
  return one === other || (one.source === other.source && one.kind === other.kind);
}

function framesOf(events: readonly NewEvent[], bytes: number, at: number): Buffer {
  const frames = Buffer.allocUnsafeSlow(bytes);
  let offset = 0;
  for (let from = 0; from < events.length; ) {
    const { origin } = events[from] as NewEvent;
    const { source, kind } = origin;
    let to = from + 1;
    while (to < events.length && isSame((events[to] as NewEvent).origin, origin)) to += 1;
    offset = writeRun(frames, offset, { place: from, at, source, kind }, events, from, to);
    from = to;
  }
  return frames;
}
