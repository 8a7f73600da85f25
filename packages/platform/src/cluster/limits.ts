/** Times of a cluster. */
export const CLUSTER_LIMITS = {
  /** For so long a leader leads without renewing its lease; whoever sees it unchanged for so long takes over. */
  leaseMs: 10_000,
  /** Between renewals, and between looks at the lease of another. */
  lookMs: 2_000,
  /** Between what a server writes of itself. */
  presenceMs: 5_000,
  /** A server that has not written for so long is called lost. */
  lostMs: 15_000,
  /** What lost servers have written goes after this long. */
  forgetMs: 86_400_000,
  /** A leader that reaches neither the database nor any other server for so long after its lease does not lead any more. */
  isolatedMs: 15_000,
  /** For an answer of another server about who leads. */
  witnessMs: 2_000,
  /** What one server vouches for of a request is good for so long, by the clocks of two machines. */
  vouchedMs: 120_000,
  /** For a connection to the leader. */
  connectMs: 5_000,
  /** Connections that are passed on at one time. */
  passed: 20_000,
} as const;
