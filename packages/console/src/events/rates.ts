import type { LiveEvent } from '../live/event.js';

/** How many events came when. */
export interface Rates {
  /** In each of as many equal spans, the oldest first. */
  readonly counts: readonly number[];
  readonly spanMs: number;
}

const SPANS = 60;
const SHORTEST_MS = 1000;

/** From the first of them until now. @param now Milliseconds since the epoch. */
export function ratesOf(events: readonly LiveEvent[], now: number): Rates {
  const first = events[0]?.at ?? now;
  const spanMs = Math.max(SHORTEST_MS, Math.ceil((now - first) / SPANS));
  const counts = new Array<number>(SPANS).fill(0);
  // By the clock of the server, which may be ahead of the one here.
  for (const { at } of events) {
    const span = Math.min(SPANS - 1, Math.max(0, SPANS - 1 - Math.floor((now - at) / spanMs)));
    counts[span] = (counts[span] ?? 0) + 1;
  }
  return { counts, spanMs };
}

const MINUTE_MS = 60_000;

export function inLastMinute(events: readonly LiveEvent[], now: number): number {
  return events.filter(({ at }) => at > now - MINUTE_MS).length;
}
