const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Bounds of what the phases do for one job. */
export const LIMITS = {
  /** Files of inputs, of an app and of an archive, directories among them. */
  entries: 100_000,
  /** Directories within directories. */
  depth: 64,
  /** Entries asked for at once. */
  page: 1_000,
  /** Of one name of a file, in bytes. */
  nameBytes: 255,
  /** Transfers of one job at the same time. */
  transfers: 4,
  /** Of a template, of `.agave.archive`, of what is read into memory. */
  textBytes: 1024 * 1024,
  /** Right after it was submitted a scheduler may not know a job yet (sheet §3.3). */
  lostLooks: 15,
  lostPauseMs: 1_000,
  /** Looks that fail for longer than this: given up (sheet §3.3). */
  failingMs: 60 * MINUTE_MS,
  /** In the batch queue (sheet §3.2). */
  queuedMs: 14 * DAY_MS,
  /** Beyond its own time, so that the scheduler's limit comes first (sheet §3.3). */
  graceMs: 10 * MINUTE_MS,
  /** Counters of looks are stored with the next change, or after so long. */
  countersMs: 5 * MINUTE_MS,
  /** How often a web server may send one elsewhere, and how long it may be silent. */
  redirects: 5,
  webSilenceMs: MINUTE_MS,
} as const;
