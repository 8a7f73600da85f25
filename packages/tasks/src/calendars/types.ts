/** Why nothing is to be started now. */
export interface Blackout {
  /** Milliseconds since the epoch: not before. */
  readonly until: number;
  /** So many windows follow each other that their end was not looked for. */
  readonly goesOn?: true;
  readonly calendar: string;
  readonly why: string;
}

/** Those of some calendars together. Null: something may be started. */
export type BlackoutAt = (at: number) => Blackout | null;

/** In a sentence. */
export function blackoutText({ calendar, why, until, goesOn }: Blackout): string {
  const reason = `calendar ${calendar} (${why})`;
  const end = `${new Date(until).toISOString()}${goesOn ? ', and goes on then' : ''}`;
  return `${reason} lets nothing start before ${end}`;
}
