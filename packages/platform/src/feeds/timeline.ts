/**
 * Times of events as feeds show them: `2014-07-10 05:17:44.995958Z` (sheet §7.10). Within a stream they are unique
 * and increase, although many events share a millisecond: each is at least one microsecond after the one before.
 * Whoever walks the same events from the first one on computes the same times.
 */
export class Timeline {
  #last = 0;

  /** Microseconds since the epoch of the next event, which happened at `atMs`. */
  next(atMs: number): number {
    this.#last = Math.max(Math.floor(atMs) * 1000, this.#last + 1);
    return this.#last;
  }
}

export function formatMicros(micros: number): string {
  const text = new Date(Math.floor(micros / 1000)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 23)}${String(micros % 1000).padStart(3, '0')}Z`;
}
