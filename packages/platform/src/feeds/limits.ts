/** Bounds of feeds that are not settings. */
export const FEED_LIMITS = {
  /** Events that a reader may fall behind in memory; then it reads from the log again. */
  backlog: 1000,
  /** Rows of events read from the log at once, each at most 1 MiB. */
  rows: 16,
  /** Events that the feed of an organization keeps, however long its retention. */
  organization: 10_000,
} as const;
