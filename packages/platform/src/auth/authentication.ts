import { DeclaredError } from '@muster/base';
import { type RequestContent, type SignedHeaders, verifyRequest } from '@muster/signing';
import { MusterError } from '../errors.js';
import { secretHash } from './changes.js';
import type { AuthRepository, Bearer, Candidate } from './repository.js';
import type { Credential, Identity, Organization } from './types.js';

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

  constructor(repository: AuthRepository) {
    this.#repository = repository;
  }

  /**
   * A user and a client may have the same name, each several keys: the first key that verifies decides.
   * @throws MusterError `unknown_principal` (`NotAuthenticated`), `not_associated`.
   */
  async bySignature(signed: SignedHeaders, content: RequestContent, realm: Realm): Promise<Authenticated> {
    const name = signed.userId;
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, name);
    const associated = candidates.filter((candidate) => belongs(candidate, realm));
    const others = candidates.filter((candidate) => !associated.includes(candidate));
    for (const { principalId, type, serverAdmin, keys, ...about } of [...associated, ...others]) {
      for (const { key, pem } of keys) {
        if (!verifyRequest(signed, content, key)) continue;
        if (!belongs({ ...about, serverAdmin }, realm)) throw notAssociated(name, realm);
        const identity = { principalId, type, name, serverAdmin, publicKey: pem, parsedKey: key };
        return { identity, credential: { kind: 'key', pem } };
      }
    }
    throw new NotAuthenticated(name, candidates.length === 0 ? 'unknown_principal' : 'invalid_signature');
  }

  /** @throws MusterError `invalid_token`, `not_associated`. */
  async byToken(token: string, realm: Realm, now: number): Promise<Authenticated> {
    const hash = secretHash(token);
    const bearer = await this.#repository.bearer(hash);
    if (bearer === undefined || bearer.expiresAt <= now) throw new MusterError('invalid_token');
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, bearer.name);
    const found = candidates.find((candidate) => candidate.principalId === bearer.principalId);
    if (found === undefined || !belongs(found, realm)) throw notAssociated(bearer.name, realm);
    const { principalId, type, name, serverAdmin } = found;
    const identity = { principalId, type, name, serverAdmin, publicKey: null };
    return { identity, credential: { kind: 'token', hash, expiresMs: bearer.expiresAt } };
  }

  /** The same as it is now; null when it would not be let in any more. */
  async again({ identity, credential }: Authenticated, realm: Realm, now: number): Promise<Identity | null> {
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, identity.name);
    const found = candidates.find(({ principalId }) => principalId === identity.principalId);
    if (found === undefined || !belongs(found, realm)) return null;
    const proved =
      credential.kind === 'key'
        ? found.keys.some(({ pem }) => pem === credential.pem)
        : isBearer(await this.#repository.bearer(credential.hash), identity, now);
    return proved ? { ...identity, serverAdmin: found.serverAdmin } : null;
  }
}

function isBearer(bearer: Bearer | undefined, { principalId }: Identity, now: number): boolean {
  return bearer !== undefined && bearer.expiresAt > now && bearer.principalId === principalId;
}
