import { DeclaredError } from '@muster/base';
import { type RequestContent, type SignedHeaders, verifyRequest } from '@muster/signing';
import { MusterError } from '../errors.js';
import { secretHash } from './changes.js';
import type { GivenJwt, IssuedTokens, Proved } from './issuers/issued.js';
import type { AuthRepository, Bearer, Candidate } from './repository.js';
import type { LiveSessions } from './sessions/live.js';
import { type Credential, type Identity, isGood, type Organization, type PrincipalType } from './types.js';

/** Where a request goes, as far as it decides who may be meant. */
export interface Realm {
  /** Null on routes outside an organization, where only users sign. */
  readonly organization: Organization | null;
  /** Server administrators are let in without membership: they administrate, they do not run jobs. */
  readonly administration: boolean;
}

/** Who is calling, and how that was proved. */
export interface Authenticated {
  readonly identity: Identity;
  readonly credential: Credential;
}

function belongs(candidate: Pick<Candidate, 'member' | 'serverAdmin'>, realm: Realm): boolean {
  return realm.organization === null || candidate.member || (realm.administration && candidate.serverAdmin);
}

/** An issuer is its organization's, which must get nobody into another one by it. */
function reaches({ issuerId, organization }: Bearer, realm: Realm): boolean {
  return issuerId === null || (realm.organization !== null && realm.organization.id === organization?.id);
}

/** Nor may it make anybody an administrator of the server. */
function as(candidate: Candidate, signedIn: boolean): Candidate {
  return signedIn ? { ...candidate, serverAdmin: false } : candidate;
}

/**
 * Rows 7 and 10 of sheet §1.5 in one: who cannot sign for a name is not to learn whether there is such a name. The reason is
 * for the audit.
 */
export class NotAuthenticated extends DeclaredError {
  readonly reason: 'unknown_principal' | 'invalid_signature';

  constructor(name: string, reason: NotAuthenticated['reason']) {
    super('unknown_principal', { name });
    this.reason = reason;
  }
}

function notAssociated(name: string, realm: Realm): MusterError {
  return new MusterError('not_associated', { name, organization: realm.organization?.name ?? '' });
}

/**
 * Who is calling: checks 7, 10 and 8 of sheet §1.5. In this order, not the sheet's: only who has signed for a name is told
 * where it belongs.
 */
export class Authentication {
  readonly #repository: AuthRepository;
  readonly #issued: Pick<IssuedTokens, 'prove' | 'stands'>;
  readonly #sessions: Pick<LiveSessions, 'find' | 'saw'>;

  constructor(
    repository: AuthRepository,
    issued: Pick<IssuedTokens, 'prove' | 'stands'>,
    sessions: Pick<LiveSessions, 'find' | 'saw'>,
  ) {
    this.#repository = repository;
    this.#issued = issued;
    this.#sessions = sessions;
  }

  /**
   * A user and a client may have the same name, each several keys: the first key that verifies and has not expired decides.
   * @throws MusterError `unknown_principal` (`NotAuthenticated`), `not_associated`, `key_expired`.
   */
  async bySignature(signed: SignedHeaders, content: RequestContent, realm: Realm, now: number): Promise<Authenticated> {
    const name = signed.userId;
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, name);
    const associated = candidates.filter((candidate) => belongs(candidate, realm));
    const others = candidates.filter((candidate) => !associated.includes(candidate));
    let expired: { readonly ms: number; readonly kind: PrincipalType } | null = null;
    for (const { principalId, type, serverAdmin, keys, ...about } of [...associated, ...others]) {
      for (const { key, pem, expiresMs } of keys) {
        if (!verifyRequest(signed, content, key)) continue;
        if (expiresMs !== null && !isGood(expiresMs, now)) {
          expired ??= { ms: expiresMs, kind: type };
          continue;
        }
        if (!belongs({ ...about, serverAdmin }, realm)) throw notAssociated(name, realm);
        const identity = {
          principalId,
          type,
          name,
          serverAdmin,
          publicKey: pem,
          parsedKey: key,
          keyExpiresAt: expiresMs,
        };
        return { identity, credential: { kind: 'key', pem, expiresMs } };
      }
    }
    if (expired !== null) {
      const { ms, kind } = expired;
      throw new MusterError('key_expired', { name, kind, at: new Date(ms).toISOString() });
    }
    throw new NotAuthenticated(name, candidates.length === 0 ? 'unknown_principal' : 'invalid_signature');
  }

  /** @throws MusterError `invalid_token`, `not_associated`, `signed_in_elsewhere`. */
  async byToken(token: string, realm: Realm, now: number): Promise<Authenticated> {
    const hash = secretHash(token);
    const bearer = await this.#repository.bearer(hash);
    if (bearer === undefined || bearer.expiresAt <= now) throw new MusterError('invalid_token');
    if (!reaches(bearer, realm)) {
      throw new MusterError('signed_in_elsewhere', {
        name: bearer.name,
        organization: bearer.organization?.name ?? 'that is gone',
      });
    }
    const signedIn = bearer.issuerId !== null;
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, bearer.name);
    const found = candidates.find((candidate) => candidate.principalId === bearer.principalId);
    if (found === undefined || !belongs(as(found, signedIn), realm)) throw notAssociated(bearer.name, realm);
    const { principalId, type, name, serverAdmin } = as(found, signedIn);
    const identity = { principalId, type, name, serverAdmin, publicKey: null };
    return { identity, credential: { kind: 'token', hash, expiresMs: bearer.expiresAt, signedIn } };
  }

  /** By the secret of a session of the console. @throws MusterError `session_ended`, `not_associated`, `signed_in_elsewhere`. */
  async bySession(secret: string, realm: Realm): Promise<Authenticated> {
    const hash = secretHash(secret);
    const session = await this.#sessions.find(hash);
    if (session === null) throw new MusterError('session_ended');
    const { name, organization, signedIn, expiresAt } = session;
    if (signedIn && realm.organization?.id !== organization.id)
      throw new MusterError('signed_in_elsewhere', { name, organization: organization.name });
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, name);
    const found = candidates.find(({ principalId }) => principalId === session.principalId);
    if (found === undefined || !belongs(as(found, signedIn), realm)) throw notAssociated(name, realm);
    this.#sessions.saw(session);
    const { principalId, type, serverAdmin } = as(found, signedIn);
    const identity = { principalId, type, name, serverAdmin, publicKey: null };
    return { identity, credential: { kind: 'session', hash, expiresMs: expiresAt, signedIn } };
  }

  /**
   * By a token that somebody else has issued: the user of this name who belongs to the organization, or else somebody whom only that
   * token makes known here. Good within that organization alone, and never for what server administrators may.
   * @throws MusterError `invalid_jwt`, `issuer_unavailable`.
   */
  async byJwt(
    given: GivenJwt,
    organization: Organization | null,
  ): Promise<Authenticated & { organization: Organization }> {
    const proved = await this.#issued.prove(given, organization);
    const { hash, expiresMs, issuerId } = proved;
    return {
      identity: await this.#issuedTo(proved),
      credential: { kind: 'jwt', hash, expiresMs, issuerId },
      organization: proved.organization,
    };
  }

  async #issuedTo({
    organization,
    user: name,
    roles,
  }: Pick<Proved, 'organization' | 'user' | 'roles'>): Promise<Identity> {
    const candidates = await this.#repository.candidates(organization.id, name);
    const member = candidates.find((one) => one.type === 'user' && one.member);
    const base = { type: 'user', name, serverAdmin: false, publicKey: null, ...(roles !== null && { roles }) } as const;
    if (member !== undefined) return { ...base, principalId: member.principalId };
    return { ...base, principalId: `issued:${organization.id}:${name}`, external: true };
  }

  /**
   * Where a request goes whose path names no organization: that of its token, or the only one of its user. Nothing is verified here.
   * null: nothing says.
   */
  async homeOf(
    proof: { readonly token: string } | { readonly user: string } | { readonly session: string },
  ): Promise<Organization | null> {
    if ('session' in proof) return (await this.#sessions.find(secretHash(proof.session)))?.organization ?? null;
    if ('token' in proof) {
      const bearer = await this.#repository.bearer(secretHash(proof.token));
      if (bearer === undefined) return null;
      return bearer.organization ?? (await this.#repository.home(bearer.principalId)).organization;
    }
    const user = (await this.#repository.candidates(null, proof.user)).find(({ type }) => type === 'user');
    return user === undefined ? null : (await this.#repository.home(user.principalId)).organization;
  }

  /** What is said to somebody who has proved to be that user. */
  async homeless({ name, principalId }: Identity): Promise<MusterError> {
    const { number } = await this.#repository.home(principalId);
    return new MusterError('tenant_unclear', { name, number });
  }

  /** The same as it is now; null when it would not be let in any more. */
  async again({ identity, credential }: Authenticated, realm: Realm, now: number): Promise<Identity | null> {
    if (credential.kind === 'jwt') {
      const { organization } = realm;
      const good = organization !== null && credential.expiresMs > now;
      if (!good || !(await this.#issued.stands(organization, credential.issuerId))) return null;
      const same = await this.#issuedTo({ organization, user: identity.name, roles: identity.roles ?? null });
      return same.principalId === identity.principalId ? same : null;
    }
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, identity.name);
    const found = candidates.find(({ principalId }) => principalId === identity.principalId);
    const signedIn = credential.kind !== 'key' && credential.signedIn;
    if (found === undefined || !belongs(as(found, signedIn), realm)) return null;
    if (!(await this.#proves(credential, found, now))) return null;
    return { ...identity, serverAdmin: as(found, signedIn).serverAdmin };
  }

  async #proves(credential: Exclude<Credential, { kind: 'jwt' }>, { principalId, keys }: Candidate, now: number) {
    switch (credential.kind) {
      case 'key':
        return keys.some(({ pem, expiresMs }) => pem === credential.pem && isGood(expiresMs, now));
      case 'token': {
        const bearer = await this.#repository.bearer(credential.hash);
        return bearer !== undefined && bearer.expiresAt > now && bearer.principalId === principalId;
      }
      case 'session':
        return (await this.#sessions.find(credential.hash))?.principalId === principalId;
    }
  }
}
