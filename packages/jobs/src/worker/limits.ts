/** Bounds and paces of a worker. */
export const LIMITS = {
  /** How long a worker's lease lasts, and how often it is renewed: a dead one is replaced so long after others were given its jobs. */
  leaseMs: 6_000,
  renewMs: 2_000,
  /** After a renewal that failed. */
  renewAgainMs: 500,
  /** Deliveries of jobs that others have, beyond the slots. */
  standIns: 1_000,
  /** Beyond the moment at which a lease ends, or should have been renewed: that takes a moment. */
  standInGraceMs: 250,
  /** While the database is away. */
  storeFirstMs: 250,
  storeMostMs: 10_000,
  /** How long jobs have to stop what they do when the worker ends. */
  lettingGoMs: 8_000,
  /** Names of workers that are known to be gone. */
  ended: 10_000,
  /** Characters of a body that cannot be read, in logs. */
  shownBody: 64,
} as const;

/** So many in so long (sheet §6.5). */
export interface Pace {
  readonly limit: number;
  readonly windowMs: number;
}

export interface Paces {
  /** Faults of a slot, beyond which the worker ends. */
  readonly restarts: Pace;
  /** Jobs that begin, beyond which each waits once for a random time. */
  readonly starts: Pace;
  /** Programs started on one host, likewise. */
  readonly launches: Pace;
  /** That time. */
  readonly delayMs: readonly [least: number, most: number];
}

export const PACES: Paces = {
  restarts: { limit: 50, windowMs: 300_000 },
  starts: { limit: 10, windowMs: 2_000 },
  launches: { limit: 10, windowMs: 2_000 },
  delayMs: [1_000, 3_000],
};

/** @param starts Of jobs and of programs, each within its window. */
export function pacesOf(starts: number): Paces {
  const { starts: jobs, launches } = PACES;
  return { ...PACES, starts: { ...jobs, limit: starts }, launches: { ...launches, limit: starts } };
}
