import type { Clock } from '@muster/base';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import { MusterError } from '../../errors.js';
import type { FetchJson } from '../../outbound/fetch-json.js';
import { secretHash } from '../changes.js';
import type { AuthRepository } from '../repository.js';
import type { Organization } from '../types.js';
import { type Claims, normalTenant, rolesOf, tenantOf, userOf, valuesOf } from './claims.js';
import { KeyRing } from './key-ring.js';
import type { IssuerKey } from './keys.js';
import { groupsGiven } from './rules.js';
import { ISSUER_LIMITS, type Issuer, type SignIn } from './types.js';

/** A token of an issuer as it came with a request. */
export interface GivenJwt {
  readonly token: string;
  /** What the name of the header says, of a JWT assertion (sheet §8.2); null: it is a bearer token. */
  readonly tenant: string | null;
}

/** What a token has proved. */
export interface Proved {
  readonly organization: Organization;
  readonly issuerId: string;
  readonly user: string;
  readonly roles: string | null;
  readonly hash: string;
  readonly expiresMs: number;
}

/** Something that is good once, and when it is too old for that. */
export interface Once {
  readonly hash: string;
  readonly endsMs: number;
}

/** Who has signed in at an issuer. */
export interface SignedIn {
  readonly user: string;
  /** Groups of the organization that the issuer gives. */
  readonly groups: ReadonlySet<string>;
  /** The token that it was done with; null: it was done with a password. */
  readonly once: Once | null;
}

/** What a token must have. */
interface Expected {
  readonly alg: string;
  readonly kid: string | null;
  /** null: it may be for anybody. */
  readonly audience: { readonly value: string | null; readonly flag: '--audience' | '--client-id' };
}

function refused(reason: string): MusterError {
  return new MusterError('invalid_jwt', { reason });
}

/** Tokens that others have issued, verified with what organizations have said of these. */
export class IssuedTokens {
  readonly keys: KeyRing;
  readonly #repository: AuthRepository;
  readonly #clock: Clock;

  constructor(deps: { readonly repository: AuthRepository; readonly clock: Clock; readonly fetch: FetchJson }) {
    this.#repository = deps.repository;
    this.#clock = deps.clock;
    this.keys = new KeyRing(deps.clock, deps.fetch);
  }

  /**
   * @param organization That the path names; null: it is that of the issuer.
   * @throws MusterError `invalid_jwt`, never with anything of the token; `jwt_for_other`; `issuer_unavailable` when its keys cannot be had.
   */
  async prove(given: GivenJwt, organization: Organization | null): Promise<Proved> {
    const { alg, kid, issuer: iss } = read(given);
    const meant = given.tenant === null ? organization : await this.#asserted(given.tenant, organization);
    const issuers = await this.#candidates(meant, iss);
    if (issuers.length === 0) throw refused('nobody here takes tokens of its issuer');
    let failure: unknown = refused('no key of its issuer has signed it');
    for (const issuer of issuers) {
      try {
        const audience = { value: issuer.audience, flag: '--audience' } as const;
        const claims = await this.#verify(given.token, issuer, { alg, kid, audience });
        if (claims !== null) return this.#proved(given, issuer, claims);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /**
   * By an ID token that the issuer has just given to the command line, or for a browser.
   * @param nonce That it must have; null: it need have none.
   * @throws MusterError `invalid_jwt`, never with anything of the token; `jwt_for_other`; `issuer_unavailable` when its keys cannot be had.
   */
  async signIn(token: string, issuer: Issuer, signIn: SignIn, nonce: string | null): Promise<SignedIn> {
    const given = { token, tenant: null };
    const { alg, kid, issuer: iss } = read(given);
    if (iss !== issuer.issuer) throw refused(`it is not of issuer '${issuer.name}'`);
    const audience = { value: signIn.clientId, flag: '--client-id' } as const;
    const claims = await this.#verify(token, issuer, { alg, kid, audience });
    if (claims === null) throw refused('no key of its issuer has signed it');
    const party = claims.azp ?? (Array.isArray(claims.aud) && claims.aud.length > 1 ? null : signIn.clientId);
    if (party !== signIn.clientId) throw refused('it was given to another client');
    if (nonce !== null && claims.nonce !== nonce) throw refused('it was given for another sign-in (nonce)');
    const { signInFreshSeconds, skewSeconds } = ISSUER_LIMITS;
    const endsMs = (Number(claims.iat) + signInFreshSeconds + skewSeconds) * 1000;
    if (typeof claims.iat !== 'number' || endsMs <= this.#clock.now())
      throw refused(`it was issued more than ${signInFreshSeconds / 60} minutes ago`);
    // At many providers anybody may say any address of themselves.
    if (issuer.userClaim === 'email' && claims.email_verified !== true)
      throw refused('its issuer has not verified the address of its user (email_verified)');
    const { user, hash } = this.#proved(given, issuer, claims);
    const values = signIn.groupsClaim === null ? [] : valuesOf(claims, signIn.groupsClaim);
    return { user, groups: groupsGiven(signIn, values), once: { hash, endsMs } };
  }

  /** Is it still good, and its issuer still trusted? */
  async stands(organization: Organization, issuerId: string): Promise<boolean> {
    return (await this.#repository.issuers(organization.id)).some(({ id }) => id === issuerId);
  }

  /** The organization that a header names must be that of the path. */
  async #asserted(tenant: string, organization: Organization | null): Promise<Organization> {
    const named = await this.#repository.tenant(tenant.toLowerCase(), normalTenant(tenant));
    if (named === undefined || (organization !== null && organization.id !== named.id)) {
      throw refused('the header names no tenant that it can be for');
    }
    return named;
  }

  /** Those that may have issued it, what says most of its tokens first. */
  async #candidates(organization: Organization | null, iss: string | null): Promise<readonly Issuer[]> {
    const issuers =
      organization === null ? await this.#repository.issuersOf(iss) : await this.#repository.issuers(organization.id);
    // A directory issues no tokens.
    const fits = issuers.filter(({ kind, issuer }) => kind !== 'ldap' && (issuer === null || issuer === iss));
    const said = ({ issuer, audience }: Issuer): number => Number(issuer !== null) * 2 + Number(audience !== null);
    return fits.sort((a, b) => said(b) - said(a) || a.createdAt - b.createdAt);
  }

  /** Its claims; null: no key of this issuer has signed it. @throws MusterError what is wrong with it all the same. */
  async #verify(token: string, issuer: Issuer, { alg, kid, audience }: Expected): Promise<Claims | null> {
    const keys = (await this.#keysOf(issuer, kid)).filter((key) => key.alg === alg);
    for (const { key } of keys) {
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [alg],
          requiredClaims: ['exp'],
          clockTolerance: ISSUER_LIMITS.skewSeconds,
          currentDate: new Date(this.#clock.now()),
          ...(issuer.issuer !== null && { issuer: issuer.issuer }),
          ...(audience.value !== null && { audience: audience.value }),
        });
        return payload;
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        throw forOther(error, issuer, audience) ?? refused(reasonOf(error));
      }
    }
    return null;
  }

  async #keysOf(issuer: Issuer, kid: string | null): Promise<readonly IssuerKey[]> {
    try {
      return await this.keys.keys(issuer, kid);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new MusterError('issuer_unavailable', { name: issuer.name, reason }, { cause: error });
    }
  }

  #proved({ token, tenant }: GivenJwt, issuer: Issuer, claims: Claims): Proved {
    const { organization } = issuer;
    const said = tenantOf(claims);
    const expected = issuer.tenant ?? organization.name;
    if (said === undefined && (tenant !== null || issuer.tenant !== null))
      throw refused('it does not say of which tenant its user is');
    if (said !== undefined && normalTenant(said) !== normalTenant(expected)) {
      throw refused('its user is of another tenant than it is sent for');
    }
    const named = userOf(claims, issuer);
    if ('reason' in named) throw refused(named.reason);
    const expiresMs = (Number(claims.exp) + ISSUER_LIMITS.skewSeconds) * 1000;
    return {
      organization,
      issuerId: issuer.id,
      user: named.user,
      roles: rolesOf(claims),
      hash: secretHash(token),
      expiresMs,
    };
  }
}

/** What a token says of itself before anything is verified. */
function read({ token, tenant }: GivenJwt): { alg: string; kid: string | null; issuer: string | null } {
  if (token.length > ISSUER_LIMITS.token) throw refused(`it has more than ${ISSUER_LIMITS.token} characters`);
  let header: ReturnType<typeof decodeProtectedHeader>;
  let claims: Claims;
  try {
    header = decodeProtectedHeader(token);
    claims = decodeJwt(token);
  } catch {
    throw refused('it cannot be read');
  }
  const { alg, kid } = header;
  if (typeof alg !== 'string' || alg === '' || alg.toLowerCase() === 'none') throw refused('it is not signed');
  if (tenant !== null && alg !== 'RS256') throw refused('an assertion is signed with RS256');
  return { alg, kid: typeof kid === 'string' ? kid : null, issuer: typeof claims.iss === 'string' ? claims.iss : null };
}

/** Characters of an audience that is told. */
const AUDIENCE_SHOWN = 200;

/** An issuer has signed it, for another audience. Undefined: something else is wrong. */
function forOther(error: unknown, { name }: Issuer, { value, flag }: Expected['audience']): MusterError | undefined {
  if (!(error instanceof errors.JWTClaimValidationFailed) || error.claim !== 'aud') return undefined;
  const given =
    error.payload.aud === undefined ? 'missing' : JSON.stringify(error.payload.aud).slice(0, AUDIENCE_SHOWN);
  return new MusterError('jwt_for_other', { given, expected: value ?? '', name, flag });
}

/** Without anything of the token. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `its claim ${error.claim} is missing or not the expected one`;
  return 'it cannot be verified';
}
