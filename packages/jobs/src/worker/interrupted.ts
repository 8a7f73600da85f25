/**
 * Why what is done for a job ends at once.
 *
 * | reason | what follows |
 * |---|---|
 * | `wanted` | the row says what is asked of the job |
 * | `stopping` | the worker ends, and gives the job back as it is |
 * | `unsure` | its lease could not be renewed in time: the job waits until it is, or is another's |
 */
export type Interruption = 'wanted' | 'stopping' | 'unsure';

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly reason: Interruption;

  constructor(reason: Interruption) {
    super(`interrupted: ${reason}`);
    this.reason = reason;
  }
}

/** The worker's lease is another's, or was given back: nothing is done under it any more. */
export class TenureLost extends Error {
  override readonly name = 'TenureLost';
}
