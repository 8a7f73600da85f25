/** Bounds of the event log that are not settings. Times are milliseconds. */
export const LOG_LIMITS = {
  /** Rows, and bytes of events, that are pruned in one transaction. */
  pruneRows: 500,
  pruneBytes: 16 * 1024 * 1024,
  pruneEveryMs: 60_000,
  /** Organizations that are told of one change of a user, who may be known in many. */
  eventsOfChange: 1000,
} as const;
