/** Every bound of the nodes layer, by name. */
export const NODE_LIMITS = {
  /** Messages waiting for the command socket. Beyond it they are dropped and counted: effects are repeated anyway. */
  outbox: 200_000,
  /** Messages the socket holds for one peer; a node needs few, and old ones are worthless (Push Jobs §3.2.1). */
  peerQueue: 64,
  /** Connections waiting to be accepted: 10,000 agents may come back at once. */
  backlog: 4096,
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
  /** Keys of one node that may verify its messages at the same time: the current one and the next. */
  sessionsPerNode: 2,
} as const;
