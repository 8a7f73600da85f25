/**
 * Tables as the code sees them. Ids are text, times are milliseconds since the epoch, flags are 0 or 1 and
 * JSON is text, so that SQLite and PostgreSQL hold the same values.
 *
 * A package declares its own tables here, beside the migrations that create them, and names no others:
 * `declare module '@muster/store' { interface Schema { … } }`. A test reads the names in all queries.
 */
export interface Schema {
  /** The last transaction of each write lane, stored with it: tells after a lost connection what became of it. */
  commit_marker: {
    lane: string;
    seq: number;
    /** First of the numbers that it was given; 0 if it takes none. */
    first: number;
    at: number;
  };
  /** The last number that was given in a table. It is advanced in the transaction that the numbers are for. */
  counters: { name: keyof Schema; last: number };
  /** Who may act for a thing, until when. Rows stay: an epoch is never given twice. */
  leases: {
    name: string;
    /** null: nobody, it was given back. */
    holder: string | null;
    /** Counts the acquisitions. */
    epoch: number;
    expires_at: number;
  };
}
