import type { LiveEvent } from './event.js';

/** The newest events that are kept in a tab. */
export const TAIL_LIMIT = 10_000;

/** What follows from a position, ascending, each event once. Pure. */
export interface Tail {
  readonly events: readonly LiveEvent[];
  /** Older ones that are not kept any more. */
  readonly dropped: number;
  /** The server says that some are missing; `null`: nobody knows how many. */
  readonly missing: number | null;
}

export const EMPTY_TAIL: Tail = { events: [], dropped: 0, missing: 0 };

export function applyToTail(tail: Tail, events: readonly LiveEvent[], limit = TAIL_LIMIT): Tail {
  let last = tail.events.at(-1)?.position ?? -1;
  const added = events.filter(({ position }) => {
    if (position <= last) return false;
    last = position;
    return true;
  });
  if (added.length === 0) return tail;
  const all = [...tail.events, ...added];
  const over = Math.max(0, all.length - limit);
  return { ...tail, events: over === 0 ? all : all.slice(over), dropped: tail.dropped + over };
}
