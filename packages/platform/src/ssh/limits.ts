/** Bounds of connections over ssh. Times are milliseconds. */
export const SSH_LIMITS = {
  /** Until a login is done. */
  connectMs: 20_000,
  /** A host that does not answer is asked so often, so far apart, before its connection is given up. */
  keepaliveMs: 15_000,
  keepalives: 3,
  /** Commands at once on one connection; sshd allows ten sessions by default, and one is for files. */
  channels: 8,
  /** A connection that nobody uses is closed. */
  idleMs: 360_000,
} as const;
