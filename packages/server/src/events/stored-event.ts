import { EMPTY_BODY, type LoggedEvent, type NewEvent, newEventOf, stamp } from '@muster/fabric';
import type { ReadEvent } from './log-reads.js';
import type { Recordable } from './log-rows.js';

/** Attribute of an event of Muster's own that was too large to travel: it came without its body, which had so many bytes. */
const OVERSIZE = 'oversize';

/** An event with its place in the log. Its tail is made when somebody wants it: mostly nobody does. */
export class StoredEvent implements LoggedEvent {
  readonly position: number;
  readonly atMs: number;
  readonly orgId: string;
  readonly subject: string | null;
  /** As it was recorded; what travels may be without its body. */
  readonly event: NewEvent;
  readonly #maxSize: number;
  #tail: LoggedEvent | null;

  constructor(recorded: Recordable, position: number, atMs: number, maxSize: number, tail: LoggedEvent | null) {
    this.position = position;
    this.atMs = atMs;
    this.orgId = recorded.orgId;
    this.subject = recorded.subject;
    this.event = recorded.event;
    this.#maxSize = maxSize;
    this.#tail = tail;
  }

  get org(): string {
    return this.event.origin.org;
  }

  get bytes(): Uint8Array {
    return this.#logged.bytes;
  }

  get start(): number {
    return this.#logged.start;
  }

  get end(): number {
    return this.#logged.end;
  }

  get #logged(): LoggedEvent {
    this.#tail ??= stamp([withinSize(this.event, this.#maxSize)], this.position, this.atMs)[0] as LoggedEvent;
    return this.#tail;
  }
}

/** @param maxSize of lines and body of an event together, as it travels. */
export function storedEvents(
  events: readonly Recordable[],
  first: number,
  atMs: number,
  maxSize: number,
): StoredEvent[] {
  // What others publish is checked, comes in crowds, and is mostly waited for: one stamp for all is cheapest.
  const published = events.length > 1 && events.every(({ frame }) => frame === undefined);
  const tails = published
    ? stamp(
        events.map(({ event }) => event),
        first,
        atMs,
      )
    : [];
  return events.map((event, index) => new StoredEvent(event, first + index, atMs, maxSize, tails[index] ?? null));
}

/** Events that were read from the log, as they travel. */
export function tailsOf(events: readonly ReadEvent[], maxSize: number): LoggedEvent[] {
  const logged: LoggedEvent[] = [];
  for (let start = 0; start < events.length; ) {
    const { position, at } = events[start] as ReadEvent;
    let end = start + 1;
    // Neighbours of one time are stamped at once.
    while (events[end]?.position === position + end - start && events[end]?.at === at) end += 1;
    const run = events.slice(start, end).map(({ event }) => withinSize(event, maxSize));
    logged.push(...stamp(run, position, at));
    start = end;
  }
  return logged;
}

/** The event as it travels: nobody on the way need be ready for more bytes than are agreed. */
export function withinSize(event: NewEvent, maxSize: number): NewEvent {
  const { bytes, linesStart, linesEnd, bodyStart, bodyEnd } = event;
  if (linesEnd - linesStart + bodyEnd - bodyStart <= maxSize) return event;
  const said = Buffer.from(`${OVERSIZE}:${bodyEnd - bodyStart}\n`);
  return newEventOf(event.origin, Buffer.concat([bytes.subarray(linesStart, linesEnd), said]), EMPTY_BODY);
}
