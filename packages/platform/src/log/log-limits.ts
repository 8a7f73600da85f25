/** Bounds of the event log that are not settings. Times are milliseconds. */
export const LOG_LIMITS = {
  /** Rows, and bytes of events, that are pruned in one transaction. */
  pruneRows: 500,
  pruneBytes: 16 * 1024 * 1024,
  pruneEveryMs: 60_000,
  /** Positions set aside for the events of one change of identity: a user may be known in many organizations. */
  eventsOfChange: 1000,
} as const;
