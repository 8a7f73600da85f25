/** Every bound of the nodes layer, by name. */
export const NODE_LIMITS = {
  /** Messages waiting for the command socket. Beyond it they are dropped and counted: effects are repeated anyway. */
  outbox: 200_000,
  /** Messages the socket holds for one peer; a node needs few, and old ones are worthless (Push Jobs §3.2.1). */
  peerQueue: 64,
  /** Connections waiting to be accepted: 10,000 agents may come back at once. */
  backlog: 4096,
  /** Bytes that libzmq reads, or writes, in one go on a connection; a heartbeat is about 500. */
  connectionBuffer: 1024,
  /** CURVE keys admitted at the same time. */
  admissions: 200_000,
  /** Nodes in one answer of a list or search, when the request does not say. */
  page: 1000,
  /** Largest page that may be asked for. */
  maxPage: 20_000,
  /** Characters of a search. */
  query: 16_384,
  /** Milliseconds between two log lines about the same kind of dropped message. */
  logEveryMs: 1000,
  /** Frames larger than this many bodies close the connection; smaller ones are counted and dropped. */
  oversizeFactor: 4,
  /**
   * What one node's messages may cost per second, and at once. A message costs 1, and 1 more for each `workBytes` of it:
   * 4,000 small messages a second, or 1,000 output chunks of 32 KiB, which is more than an agent sends while it waits
   * for what it sent to be stored, and about a third of a core.
   */
  workPerSecond: 4000,
  workBurst: 8000,
  workBytes: 16_384,
  /** Connections not known to be a node's whose messages are counted each by itself. */
  strangers: 20_000,
  /** Keys of one node that may verify its messages at the same time: the current one and the next. */
  sessionsPerNode: 2,
} as const;
