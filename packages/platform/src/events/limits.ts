/** Bounds of events in the server that are not settings. Times are milliseconds. */
export const EVENT_LIMITS = {
  /** Restricted patterns of one organization: they go with every login. */
  grantPatterns: 200,
  /** Holders of all grants of one organization. */
  grantHolders: 20_000,
  /** Logins that are being checked. */
  pendingLogins: 1000,
  /** A refusal comes no sooner, whatever is wrong. */
  refusalMs: 500,
  /** Credentials that are in use and are looked at again when something changes. */
  heldLogins: 100_000,
  /** Nonces that are remembered until their logins are too old, of one principal and of all. */
  noncesPerPrincipal: 1000,
  nonces: 200_000,
  /** Between two times that those which have ended are deleted. */
  pruneNoncesMs: 60_000,
  /** Rows of one statement: both databases bound its parameters. */
  rows: 500,
  /** Between two attempts to read what a change has left of the logins, or to store what is due. */
  retryMs: 1000,
  /** Of future events in one answer. */
  page: 10_000,
  /** Future events that become due together and are published in one transaction. */
  dueAtOnce: 500,
  /** Longest time that a timer runs before the clock is looked at again: it may have been set. */
  timerMs: 60_000,
  /** How far the log was looked through is stored so often, where nothing was to be done. */
  watchSaveMs: 5000,
  /** Until what could not be looked at, or done, is tried again. */
  watchAgainMs: 5000,
} as const;
