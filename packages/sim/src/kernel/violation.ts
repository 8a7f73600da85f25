/** A rule of the shipped code was broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  /** Which rule, in a word or two; the same for every run that breaks it. */
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}
