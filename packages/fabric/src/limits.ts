/** Every bound of the fabric, in bytes, counts or milliseconds. Those that operators set are only defaults here. */
export const FABRIC_LIMITS = {
  /** Type, attributes and body of one event together, as they stand on the wire (N-7). */
  eventBytes: 4096,
  /** The first frame, CONNECT: nobody who has not logged in may make us keep more. */
  connectFrameBytes: 8192,
  /** Command and header lines of one frame. */
  headBytes: 16_384,
  headers: 128,
  /** Attributes of one event. Every relay adds headers of its own to a SEND, which must stay within `headers`. */
  attributes: 120,
  headerNameBytes: 256,
  /** Selector text (S-4 allows 4,072; ours are read by people, not by packets). */
  selectorBytes: 4072,
  subscriptionsPerClient: 8192,
  /** Events between BEGIN and COMMIT, all transactions of a connection together. */
  transactionEvents: 1000,
  transactions: 16,
  /** Connections that have not logged in, all together; one address gets half of them at most (`FairShares`). */
  unauthenticatedConnections: 1000,
  connections: 20_000,
  /** From the connection until CONNECT has come and the login is checked. */
  loginMs: 10_000,
  /** Bytes that wait for one client to read them; with more it is too slow (F5). */
  outboundBytes: 8 * 1024 * 1024,
  /** Durable subscriptions of one organization. */
  durableSubscriptions: 1000,
  /** Messages of a durable subscription that are delivered before one of them is acknowledged. */
  prefetch: 1000,
  /** Deliveries of one event to a durable subscription that refuses it again and again. */
  redeliveries: 5,
  /** Shortest heart-beat interval that we agree to. */
  heartBeatMs: 1000,
  /** Heart-beat interval that we offer, both ways (O-6). */
  idleMs: 30_000,
  /** A peer is dead after this many intervals without a byte. */
  missedIntervals: 2,
  /** One attempt upstream (F4); a relay may set another, but none shorter than `leastSendMs`. */
  sendMs: 10_000,
  leastSendMs: 100,
  lingerMs: 5000,
  /** Name lookup, connection and handshakes of one attempt to connect; handshakes of those who connect to us. */
  connectMs: 10_000,
  /** One message from a WebSocket client: nobody unknown may make us keep more. */
  webSocketMessageBytes: 64 * 1024,
  /** One message from a WebSocket server: it puts many frames into one. */
  webSocketServerMessageBytes: 1024 * 1024,
  /** The event types that a login may follow, as JSON in the header `follow` of CONNECTED. */
  followBytes: 32 * 1024,
  /** A relay's question about one client's login, as JSON. Every root takes frames of that size. */
  loginBytes: 4096,
  /** Logins that wait for an answer from upstream. */
  pendingLogins: 1000,
  /** Events that a client keeps for a subscription that is not read, before it stops reading from the connection. */
  clientEvents: 1000,
  /** Bytes of events kept all the same, as an answer is awaited behind them; beyond that the subscription ends. */
  clientBytes: 16 * 1024 * 1024,
  /** Bytes that a client has written and that the system has not taken, before publishers without receipts wait. */
  clientPendingBytes: 1024 * 1024,
  /** Head and, as much again, body of a frame that a client takes: servers may allow larger events. */
  clientFrameBytes: 1024 * 1024,
  /** Longest pause of a client between two attempts to connect. */
  retryMaxMs: 30_000,
  /** Longest pause, interval or attempt that a program may set: a week. */
  clientMostMs: 604_800_000,
  /** Longest wait for a completion: ten years, as on the command line. */
  completionMs: 315_360_000_000,
  /** A client waits that long for an answer of a server that lives. */
  answerMs: 30_000,
  /** Pause between two attempts to reach upstream; each is made longer or shorter by up to half (L-1). */
  retryMs: 5000,
  /** Events that a relay has sent upstream and that are not confirmed: with more, publishers are not read. */
  inFlightBytes: 4 * 1024 * 1024,
  inFlightEvents: 10_000,
} as const;
