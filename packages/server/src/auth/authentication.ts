import { MusterError, type RequestContent, type SignedHeaders, verifyRequest } from '@muster/wire';
import { secretHash } from './changes.js';
import type { AuthRepository, Candidate } from './repository.js';
import type { Identity, Organization } from './types.js';

/** Where a request goes, as far as it decides who may be meant. */
export interface Realm {
  /** Null on routes outside an organization, where only users sign. */
  readonly organization: Organization | null;
  /** Server administrators are let in without membership: they administrate, they do not run jobs. */
  readonly administration: boolean;
}

function belongs(candidate: Pick<Candidate, 'member' | 'serverAdmin'>, realm: Realm): boolean {
  return realm.organization === null || candidate.member || (realm.administration && candidate.serverAdmin);
}

function notAssociated(name: string, realm: Realm): MusterError {
  return new MusterError('not_associated', { name, organization: realm.organization?.name ?? '' });
}

/** Who is calling: checks 7, 8 and 10 of sheet §1.5, in this order. */
export class Authentication {
  readonly #repository: AuthRepository;

  constructor(repository: AuthRepository) {
    this.#repository = repository;
  }

  /**
   * A user and a client may have the same name, each several keys: the first key that verifies decides.
   * @throws MusterError `unknown_principal`, `not_associated`, `invalid_signature`.
   */
  async bySignature(signed: SignedHeaders, content: RequestContent, realm: Realm): Promise<Identity> {
    const name = signed.userId;
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, name);
    if (candidates.length === 0) throw new MusterError('unknown_principal', { name });
    const associated = candidates.filter((candidate) => belongs(candidate, realm));
    if (associated.length === 0) throw notAssociated(name, realm);
    for (const { principalId, type, serverAdmin, keys } of associated) {
      for (const { key, pem } of keys) {
        if (!verifyRequest(signed, content, key)) continue;
        return { principalId, type, name, serverAdmin, publicKey: pem, parsedKey: key };
      }
    }
    throw new MusterError('invalid_signature', { name });
  }

  /** @throws MusterError `invalid_token`, `not_associated`. */
  async byToken(token: string, realm: Realm, now: number): Promise<Identity> {
    const bearer = await this.#repository.bearer(secretHash(token));
    if (bearer === undefined || bearer.expiresAt <= now) throw new MusterError('invalid_token');
    const candidates = await this.#repository.candidates(realm.organization?.id ?? null, bearer.name);
    const found = candidates.find((candidate) => candidate.principalId === bearer.principalId);
    if (found === undefined || !belongs(found, realm)) throw notAssociated(bearer.name, realm);
    const { principalId, type, name, serverAdmin } = found;
    return { principalId, type, name, serverAdmin, publicKey: null };
  }
}
