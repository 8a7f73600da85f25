/** Bounds of what is asked of systems. Times are milliseconds. */
export const SYSTEM_LIMITS = {
  /** Bytes of a command's stdout, and of its stderr. */
  output: 1024 * 1024,
  commandMs: 60_000,
  /** Until a login is done. */
  connectMs: 20_000,
  /** A host that does not answer is asked so often, so far apart, before its connection is given up. */
  keepaliveMs: 15_000,
  keepalives: 3,
  /** Commands at once on one connection; sshd allows ten sessions by default, and one is for files. */
  channels: 8,
  /** A connection that nobody uses is closed: monitoring keeps one open for looks up to six minutes apart (sheet §3.3). */
  idleMs: 360_000,
  /** Bytes of a path. */
  path: 4096,
  /** Names in one directory. */
  names: 200_000,
  /** Jobs that are looked at by one command, and bytes of its line. */
  looks: 200,
  line: 64 * 1024,
} as const;
