/** Every bound of the store in one place. Tests narrow them; nothing else should. */
export interface Limits {
  /** Rows after which a group commit is full. One caller's writes are never split, so a batch may exceed it once. */
  readonly batchRows: number;
  /** Bytes after which a group commit is full. */
  readonly batchBytes: number;
  /** Rows per PostgreSQL statement. */
  readonly chunkRows: number;
  /** Rows waiting beyond which `commit` is refused. `persist` is not: what happened must not be forgotten. */
  readonly pendingRows: number;
  /** Bytes waiting beyond which `commit` is refused. */
  readonly pendingBytes: number;
  readonly retryFirstMs: number;
  readonly retryMostMs: number;
  /** How long `close` goes on trying to store what was handed in. */
  readonly closeMs: number;
  /** How long the callback of `transact` may hold the write lane. */
  readonly transactMs: number;
  /**
   * How long a transaction on PostgreSQL may stand still between two statements, as that of a frozen process does: then it is ended, and
   * what it has locked is free for the others. Less than the lease of a cluster, whose next leader would wait for it.
   */
  readonly idleMs: number;
  /** Attempts after deadlocks and serialization failures. */
  readonly conflictAttempts: number;
  /** How long a statement waits for another process's lock. */
  readonly busyMs: number;
  /** How long opening waits for a server that is just ending to let go of the database. */
  readonly exclusiveMs: number;
  readonly connectMs: number;
  readonly statementMs: number;
  readonly readConnections: number;
  /** Pause between two looks at whether PostgreSQL answers and takes writes. */
  readonly watchEveryMs: number;
  /** How long PostgreSQL may take to answer such a look before it counts as hung. With the pause: below 5 s. */
  readonly watchMs: number;
  /** How long a group commit may be under way before those who wait behind it are refused. */
  readonly stallMs: number;
  /** After the start, until the file of SQLite is checked: by then the start itself is over. */
  readonly checkDelayMs: number;
  /** Hints that wait for a connection; more are lost. */
  readonly hintsWaiting: number;
  /** Of one hint with its topic; PostgreSQL takes less than 8,000. */
  readonly hintBytes: number;
  /** How long that check may take. */
  readonly checkMs: number;
}

export const LIMITS: Limits = {
  batchRows: 5_000,
  batchBytes: 8 * 1024 * 1024,
  chunkRows: 5_000,
  pendingRows: 200_000,
  pendingBytes: 256 * 1024 * 1024,
  retryFirstMs: 100,
  retryMostMs: 5_000,
  closeMs: 10_000,
  transactMs: 30_000,
  idleMs: 5_000,
  conflictAttempts: 5,
  busyMs: 1_000,
  exclusiveMs: 3_000,
  connectMs: 5_000,
  statementMs: 30_000,
  readConnections: 8,
  watchEveryMs: 1_000,
  watchMs: 3_500,
  stallMs: 4_000,
  checkDelayMs: 3_000,
  checkMs: 600_000,
  hintsWaiting: 1_000,
  hintBytes: 7_900,
};
