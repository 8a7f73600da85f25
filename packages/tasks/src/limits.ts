/** Bounds of queues and tasks that are not settings. */
export const TASK_LIMITS = {
  /** Queues of one organization. */
  queues: 10_000,
  /** Tasks that wait in memory, of each lane of a queue. */
  window: 2_000,
  /** Fewer than this, and the next are read. */
  windowLow: 500,
  /** Parameters up to this many bytes are kept in memory while a task waits; larger ones are read when it is assigned. */
  paramsInMemory: 4_096,
  /** Tasks assigned, and stored, at once. */
  assignedAtOnce: 1_000,
  /** Tasks that were deleted, and are known as such to those who have read them before. */
  deletedRemembered: 100_000,
  /** Tasks added in one transaction. */
  addedAtOnce: 2_000,
  /** Tasks acted on in one transaction. */
  actedAtOnce: 500,
  /** Tasks in one message to a node, and their bytes. */
  ordersAtOnce: 512,
  orderBytes: 512_000,
  /** Tasks that a node holds beyond those it runs. */
  prefetch: 256,
  /** Other tasks that one waits for. */
  after: 1_000,
  /** Characters of a name of a queue, a plugin, a key. */
  name: 255,
  idempotencyKey: 255,
  /** Actions on many tasks that go on at one time, of one organization. */
  bulkRuns: 8,
  /** Schedules of one organization. */
  schedules: 1_000,
  /** Bytes of what a schedule runs, as JSON. */
  scheduledWork: 1_000_000,
  /** How long it is known what became of the times of schedules, how many are told at once, and how many are deleted at once. */
  historyMs: 30 * 86_400_000,
  historyPage: 250,
  historyAtOnce: 10_000,
  /** Schedules that are started at one time. */
  schedulesAtOnce: 8,
} as const;
