import { DeclaredError } from '@muster/base';

/** Who does not prove to be somebody is not to learn whether there is such a one, nor what is wrong. That is for the audit. */
export class SignInRefused extends DeclaredError {
  /** Who they say to be. */
  readonly claimed: string;
  readonly reason: string;

  constructor(claimed: string, reason: string) {
    super('sign_in_refused', {});
    this.claimed = claimed;
    this.reason = reason;
  }
}
