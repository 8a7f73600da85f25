/** Every bound of what is sent to others. */
export const OUTBOUND_LIMITS = {
  urlLength: 1024,
  /** Retries, and seconds between two. */
  retries: 1440,
  retrySeconds: 86_400,
  /** How long a target may take for its answer. */
  timeoutMs: 10_000,
  /** What is read of its answer. */
  answerBytes: 4096,
  /** Sent at the same time, in all and to one host. */
  atOnce: 32,
  atOncePerHost: 4,
  /** Characters of what is kept of a failure. */
  detailLength: 512,
} as const;
