export type OutputStream = 'stdout' | 'stderr';

/** One command that writes output. */
export interface OutputSource {
  /** What it belongs to, named as in the event log: `push/ID`. */
  readonly subject: string;
  /** Which of those that belong to it, such as the node that runs it. */
  readonly part: string;
}

/** One of its streams. */
export interface SourceStream extends OutputSource {
  readonly stream: OutputStream;
}

/** Bytes of each stream. */
export type OutputTotals = Readonly<Record<OutputStream, number>>;

/** What a layer knows of a source. */
export interface SourceStanding {
  /** Nothing is added any more, and all that was added is stored. */
  readonly ended: boolean;
  readonly captured: boolean;
  readonly running: boolean;
  /** How much the command wrote, as far as it is known; null: nothing was told. */
  readonly written: Readonly<Record<OutputStream, number | null>>;
  /** Why some of it is missing, besides the limit: the command, its agent or its node ended before it could be told. */
  readonly missing: string | null;
  /** All of what was written, where it is not in chunks: it was short, and came with the result. */
  readonly inline?: Readonly<Record<OutputStream, Uint8Array | null>>;
}
