/** Bounds of nodes without an agent. Times are milliseconds. */
export const SSH_NODE_LIMITS = {
  /** Until a host has answered, and until it has let the server in. */
  connectMs: 10_000,
  /** Between two questions whether a host is still there while a connection is open; three without an answer end it. */
  keepaliveMs: 5_000,
  /** A connection that nobody uses is closed. */
  idleMs: 60_000,
  /** How long one waits for a place among the connections. */
  placeMs: 20_000,
  /** Hosts that are asked at the same time whether they answer. */
  looks: 256,
  /** Hosts that are logged in to at the same time to see whether they let the server in: a key exchange costs both sides. */
  logins: 16,
  retryFirstMs: 1_000,
  retryLongestMs: 300_000,
  /** One short line that the host runs for the server itself, and what is kept of what it says. */
  execMs: 15_000,
  saidBytes: 65_536,
  /** What login shells may print before a command begins. */
  greetingBytes: 65_536,
  /** Until a command has said that it begins. */
  beginMs: 30_000,
  /** After a command has ended, how long what it left behind may hold its output open. */
  pipeGraceMs: 1_000,
  /** The same while more of it comes. */
  pipeLongestMs: 60_000,
  /** Between two looks at what is left of a command that is being ended, at first and at most. */
  killPollFirstMs: 100,
  killPollLongestMs: 2_000,
} as const;
