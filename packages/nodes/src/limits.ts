/** Every bound of the nodes layer, by name. */
export const NODE_LIMITS = {
  /** Messages waiting for the command socket. Beyond it they are dropped and counted: effects are repeated anyway. */
  outbox: 200_000,
  /** Bytes waiting for one peer beyond which it gets nothing more: two of the largest messages (Push Jobs §3.2.1). */
  unsentBytes: 2_400_000,
  /** The same of heartbeats; who is behind by these needs none of them. */
  unsentBeats: 16_384,
  /** Connections waiting to be accepted: 10,000 agents may come back at once. */
  backlog: 4096,
  /** Of the descriptors of the process, the share that connections of nodes may have; the rest is HTTP's, and the store's. */
  descriptorShare: 0.75,
  /** Of a process whose limit is not known, and at most. */
  connections: 250_000,
  /** Connections with the same CURVE key; the oldest yields. */
  connectionsPerKey: 4,
  /** A connection that has not finished its handshake by then is closed. */
  handshakeMs: 10_000,
  /** Bytes of one command of a handshake; CURVE's largest is about 300. */
  handshakeBytes: 2048,
  /** A message of which a part has come must be complete by then, and a subscriber have subscribed: 128 KiB in this time are 4 KiB a second. */
  unfinishedMs: 30_000,
  /** Bytes of unfinished messages on one socket, all connections together, beyond what each may hold anyway. */
  unfinished: { most: 64 * 1024 * 1024, freeEach: 4096 },
  /** How often connections are looked at for these times. */
  overdueEveryMs: 1000,
  /** Frames of one message. Two are right; a few more are counted as a message that is not, beyond that it is an attack. */
  messageFrames: 8,
  /** Bytes of one frame from a subscriber. */
  subscriptionBytes: 256,
  /** What one connection may send of commands: pings and subscriptions. */
  commands: { perSecond: 10, burst: 100 },
  /** Bytes that wait to be read as messages before sockets are left unread: some thousand messages of a job. */
  intakeBytes: 1_000_000,
  /** TCP keepalive: a peer that has vanished is noticed some ten seconds after this time. */
  keepAliveMs: 60_000,
  /** Nodes that a server that was restarted takes back in a second: about half of what it can do. */
  returnsPerSecond: 500,
  /** CURVE keys admitted at the same time. */
  admissions: 200_000,
  /** Entries of a node's history in one answer. */
  historyPage: 1000,
  /** Nodes in one answer of a list or search, when the request does not say. */
  page: 1000,
  /** Largest page that may be asked for. */
  maxPage: 20_000,
  /** Characters of a search. */
  query: 16_384,
  /** Frames larger than this many bodies close the connection; smaller ones are counted and dropped. */
  oversizeFactor: 2,
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
  /** Nodes without an agent in one organization. */
  sshNodes: 5000,
  /** Keys of one node that may verify its messages at the same time: the current one and the next. */
  sessionsPerNode: 2,
} as const;
