/** Bounds of the command interface that are not settings. */
export const DISBATCH_LIMITS = {
  /** Of a filter: levels, conditions in all, values in one list. */
  filterDepth: 16,
  filterConditions: 500,
  filterValues: 10_000,
  /** Parameters of a query string or a form, and bytes of a body. */
  parameters: 1_000,
  bodyBytes: 64 * 1024 * 1024,
  /** Tasks found by POST /tasks/search unless it says so, and at most (sheet §4C). */
  searchLimit: 100,
  /** Tasks read at once while one searches, and at most for one search that no index narrows. */
  page: 200,
  scanned: 2_000_000,
  /** Tasks passed over and shown when they are sorted by anything but their id. */
  sorted: 100_000,
  /** Bytes of output in one answer. */
  outputBytes: 64 * 1024 * 1024,
  /** Bytes of task documents in one answer, besides their output. */
  answerBytes: 64 * 1024 * 1024,
  /** A stream of output up to this size is shown in the task with `gfs` auto (T6). */
  inlineBytes: 65_536,
  /** Tasks added at once, of which the controller takes so many in one transaction. */
  created: 1_000_000,
  /** Documents of a collection read at once. */
  documents: 1_000,
  /** Documents of one collection, and bytes of one. */
  collection: 10_000_000,
  document: 1_048_576,
  /** Queues and times of a balance document. */
  balanceQueues: 10_000,
  balanceTimes: 10_000,
  /** How long a node counts as live after it was heard of (sheet §4B). */
  liveWindowMs: 15_000,
  refreshMs: 30_000,
  balanceMs: 30_000,
  /** A balancer that was silent for longer is not running. */
  balanceSilentMs: 60_000,
  /** Text from a request that is repeated in an error. */
  echoed: 200,
  /** Documents of a dump taken at once, and bytes of one request of them. */
  importedAtOnce: 1_000,
} as const;
