/** What is wrong with a selector, where, and what to write instead. The only error that parsing throws. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
  /** 0-based index into the text. */
  readonly position: number;
  readonly reason: string;
  readonly hint: string;

  constructor(position: number, reason: string, hint: string) {
    super(`at character ${position}: ${reason}. ${hint}`);
    this.position = position;
    this.reason = reason;
    this.hint = hint;
  }
}
