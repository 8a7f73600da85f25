import type { Clock } from '@muster/base';
import type { IssuerSecrets } from '../secrets.js';
import { type Directory, People } from './people.js';
import { LDAP_LIMITS } from './types.js';

export interface DirectoriesDeps {
  readonly secrets: Pick<IssuerSecrets, 'of'>;
  /** By which directories are waited for. */
  readonly clock: Clock;
  /** Whether directories may be at private addresses. */
  readonly privateTargets: boolean;
}

/** The directories of issuers, each asked with its own password. */
export class Directories {
  readonly #deps: DirectoriesDeps;

  constructor(deps: DirectoriesDeps) {
    this.#deps = deps;
  }

  /**
   * @param how With another password than that of the issuer; until it is aborted, which it is by itself unless that is said.
   * @throws Error that says why it cannot be asked, and what `work` throws
   */
  async ask<Answer>(
    issuerId: string,
    directory: Directory,
    work: (people: People) => Promise<Answer>,
    how: { readonly password?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Answer> {
    const { secrets, clock, privateTargets } = this.#deps;
    const { name, source, ldap } = directory;
    const password = how.password ?? (await secrets.of({ id: issuerId, name, source, ldap, signIn: null }));
    if (how.signal !== undefined)
      return People.ask(directory, { password, clock, privateTargets, signal: how.signal }, work);
    const late = new AbortController();
    const timer = clock.after(LDAP_LIMITS.signInMs, () => late.abort());
    try {
      return await People.ask(directory, { password, clock, privateTargets, signal: late.signal }, work);
    } catch (error) {
      throw late.signal.aborted ? new Error(`it takes longer than ${LDAP_LIMITS.signInMs / 1000} s`) : error;
    } finally {
      timer.cancel();
    }
  }
}
