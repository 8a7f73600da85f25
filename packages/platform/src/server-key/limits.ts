/** Bounds of the server's keys. */
export const SERVER_KEY_LIMITS = {
  /** Keys that were replaced, all kept: entries of the audit are verified by them. Once a month for 80 years. */
  links: 1000,
  /** Seconds between announcement and take-over, unless the request says. */
  overlap: 7 * 86_400,
  overlapMost: 365 * 86_400,
  /** What could not be told is told again after this long. */
  retryMs: 30_000,
  /** Replaced keys in one answer, the newest. */
  shown: 100,
} as const;
