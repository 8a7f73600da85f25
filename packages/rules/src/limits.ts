/** Every bound of rules. */
export const RULE_LIMITS = {
  perOrganization: 200,
  name: 255,
  /** Characters. */
  selector: 4096,
  /** Bytes of what it starts, as JSON. */
  work: 16_384,
  /** Characters of a text after its attributes were put in. */
  filled: 65_536,
  /** Runs that a rule may start within its window, and seconds of that window. */
  runs: 10_000,
  seconds: 86_400,
  /** Rules that start each other: the first is 1. */
  depth: 3,
  /** Runs of a rule that wait for the end of a blackout; further events are left out. */
  waiting: 1000,
  /** How long runs are known. */
  keepMs: 30 * 86_400_000,
  /** Runs in one answer. */
  page: 250,
  /** Of a dry run: events that are looked at, and matches that are shown. */
  triedEvents: 1_000_000,
  triedShown: 20,
  /** Seconds that it may look back. */
  triedSeconds: 7 * 86_400,
} as const;

/** Unless something else is said: whoever forgets it has no storm. */
export const USUAL_AT_MOST = { runs: 10, seconds: 60 } as const;
