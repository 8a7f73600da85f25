/** Of policies and testers: texts by name, as they travel in messages and stand in the database. */
export type Parameters = Readonly<Record<string, string>>;

/** What a policy decides upon: nothing that a restart changes. */
export interface Waited {
  /** Tests that were not passed. */
  readonly attempts: number;
  /** Milliseconds since the epoch. Since when the jobs are blocked. */
  readonly created: number;
}

export type Next =
  /** Milliseconds until the next test. */
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'give-up'; readonly reason: 'TIME_EXPIRED' | 'TOO_MANY_ATTEMPTS' | 'UNKNOWN_POLICY' };

/** When a condition is tested again, and when it is given up. A new one is one file, and a line in `index.ts`. */
export interface Policy {
  readonly type: string;
  next(parameters: Parameters, waited: Waited, now: number): Next;
  /** Parameters that are not understood: in their place the defaults hold. */
  mistakes(parameters: Parameters): readonly string[];
}
