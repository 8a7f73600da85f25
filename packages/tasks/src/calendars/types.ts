/** Why nothing is to be started now. */
export interface Blackout {
  /** Milliseconds since the epoch: not before. Where very many windows follow each other, the end of some. */
  readonly until: number;
  readonly calendar: string;
  readonly why: string;
}

/** Those of some calendars together. Null: something may be started. */
export type BlackoutAt = (at: number) => Blackout | null;

/** In a sentence. */
export function blackoutText({ calendar, why, until }: Blackout): string {
  const reason = `calendar ${calendar} (${why})`;
  return `${reason} lets nothing start before ${new Date(until).toISOString()}`;
}
