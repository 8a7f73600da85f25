import { createHash } from 'node:crypto';
import { MusterError } from '../../errors.js';
import { FormRefused } from '../../outbound/fetch-json.js';
import { type Changes, secretHash } from '../changes.js';
import { AUTH_LIMITS } from '../limits.js';
import type { Organization } from '../types.js';
import type { Attempts } from './attempts.js';
import type { Providers } from './providers.js';
import type { IssuerSecrets, Sealing } from './secrets.js';
import type { ProviderIssuer, SignIns, SignInView } from './sign-ins.js';
import { ISSUER_LIMITS } from './types.js';

export interface BrowserSignInDeps {
  readonly changes: Changes;
  readonly signIns: SignIns;
  readonly providers: Providers;
  readonly attempts: Attempts;
  readonly sealing: Sealing;
  readonly secrets: Pick<IssuerSecrets, 'of'>;
  /** A provider could not be asked for somebody. */
  readonly failed: (issuer: string, error: unknown) => void;
}

/**
 * What a browser takes along to a provider, sealed in a cookie: nothing of it is stored here, so that strangers fill no table, and
 * whichever server of a cluster it comes back to can read it.
 */
interface Away {
  readonly state: string;
  readonly nonce: string;
  /** That of PKCE: who only sees the code can do nothing with it. */
  readonly verifier: string;
  /** Where the provider sends it back to. */
  readonly redirectUri: string;
  /** Where it goes on then, within the console. */
  readonly returnTo: string;
  readonly endsMs: number;
}

/** With what a provider sends a browser back (RFC 6749 §4.1.2, RFC 9207). */
export interface BroughtBack {
  readonly state?: string;
  readonly code?: string;
  readonly error?: string;
  readonly iss?: string;
}

const ERROR_CODE = /^[\w-]{1,64}$/;

/**
 * People sign in with a browser at an OpenID provider of an organization, by the authorization code flow. Each issuer has a place of its
 * own to come back to, so that one cannot get what was meant for another.
 */
export class BrowserSignIns {
  readonly #deps: BrowserSignInDeps;
  /** Browsers that have come back, and whose codes are redeemed now. */
  #redeeming = 0;

  constructor(deps: BrowserSignInDeps) {
    this.#deps = deps;
  }

  /**
   * Where the browser is to go, and what it takes along.
   * @throws MusterError `sign_in_not_offered`, `provider_unavailable`
   */
  async begin(
    organization: Organization,
    name: string,
    { redirectUri, returnTo }: Pick<Away, 'redirectUri' | 'returnTo'>,
  ): Promise<{ readonly url: string; readonly sealed: string }> {
    const { changes, signIns, sealing } = this.#deps;
    const issuer = await signIns.provider(organization, name);
    const { authorization } = await this.#asked(issuer, (providers) => providers.places(issuer.source));
    const random = (what: string): string => changes.newSecret(what, AUTH_LIMITS.tokenBytes).text;
    const away: Away = {
      ...{ state: random('state'), nonce: random('nonce'), verifier: random('verifier') },
      ...{ redirectUri, returnTo, endsMs: changes.now + ISSUER_LIMITS.awayMs },
    };
    const url = new URL(authorization);
    const asked = {
      ...{ response_type: 'code', client_id: issuer.signIn.clientId, redirect_uri: redirectUri },
      ...{ scope: issuer.signIn.scope, state: away.state, nonce: away.nonce },
      code_challenge: createHash('sha256').update(away.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [parameter, value] of Object.entries(asked)) url.searchParams.set(parameter, value);
    return { url: url.href, sealed: Buffer.from(sealing.seal(sealedFor(issuer), away)).toString('base64url') };
  }

  /**
   * The browser has come back.
   * @param sealed What it had taken along; null: nothing.
   * @throws MusterError `sign_in_not_offered`, `sign_in_expired`, `sign_in_denied`, `sign_in_throttled`, `provider_unavailable`,
   * `invalid_jwt`, `jwt_for_other`, `issuer_unavailable`, `sign_in_unknown_user`, `too_busy`
   */
  async finish(
    organization: Organization,
    name: string,
    brought: BroughtBack,
    sealed: string | null,
    address: string,
  ): Promise<SignInView & Pick<Away, 'returnTo'>> {
    const { changes, signIns, attempts, secrets } = this.#deps;
    const issuer = await signIns.provider(organization, name);
    const away = this.#opened(issuer, sealed);
    if (away === null || brought.state !== away.state || away.endsMs <= changes.now)
      throw new MusterError('sign_in_expired');
    const denied = (reason: string) => new MusterError('sign_in_denied', { name, reason });
    const places = await this.#asked(issuer, (providers) => providers.places(issuer.source));
    if (brought.iss === undefined ? places.saysIssuer : brought.iss !== issuer.issuer)
      throw denied('it does not say that it is this one (iss)');
    const { code, error } = brought;
    if (error !== undefined) throw denied(ERROR_CODE.test(error) ? error : 'it does not say why');
    if (code === undefined) throw denied('it gives no code');
    const forNothing = attempts.from(address);
    const limit = ISSUER_LIMITS.awayAtOnce;
    if (this.#redeeming >= limit) throw new MusterError('too_busy', { what: 'people who sign in', limit });
    this.#redeeming++;
    try {
      const { clientId, confidential } = issuer.signIn;
      const { redirectUri, verifier, nonce, state, returnTo, endsMs } = away;
      const idToken = await this.#asked(issuer, async (providers) => {
        const secret = confidential ? await secrets.of(issuer) : null;
        return providers.redeem(places, { clientId, secret, code, redirectUri, verifier });
      });
      const expected = { nonce, state: { hash: secretHash(state), endsMs } };
      const signedIn = await signIns.begin(organization, name, idToken, address, expected);
      forNothing();
      return { ...signedIn, returnTo };
    } finally {
      this.#redeeming--;
    }
  }

  /** What is wrong with a provider is not for strangers. @throws MusterError `provider_unavailable`, `sign_in_expired` */
  async #asked<Answer>(issuer: ProviderIssuer, work: (providers: Providers) => Promise<Answer>): Promise<Answer> {
    const { providers, failed } = this.#deps;
    try {
      return await work(providers);
    } catch (error) {
      failed(issuer.name, error);
      // The code was redeemed before, is too old, or is of another browser.
      if (error instanceof FormRefused && error.code === 'invalid_grant')
        throw new MusterError('sign_in_expired', {}, { cause: error });
      throw new MusterError('provider_unavailable', { name: issuer.name }, { cause: error });
    }
  }

  /** Null: it took nothing along, or what was not sealed for this issuer as it is now. */
  #opened(issuer: ProviderIssuer, sealed: string | null): Away | null {
    if (sealed === null) return null;
    try {
      return this.#deps.sealing.unseal<Away>(sealedFor(issuer), Buffer.from(sealed, 'base64url'));
    } catch {
      return null;
    }
  }
}

function sealedFor({ id, source, signIn }: ProviderIssuer): string {
  return JSON.stringify(['sign-in', id, source, signIn.clientId]);
}
