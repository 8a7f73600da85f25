/** Whose events, and everything else, these are. */
export interface Organization {
  /** 32 hex digits. */
  readonly id: string;
  readonly name: string;
}
