import { MusterError } from '../../errors.js';
import { type Changes, secretHash } from '../changes.js';
import { AUTH_LIMITS } from '../limits.js';
import type { AuthRepository } from '../repository.js';
import { type Actor, actorOf, type Identity, type Organization } from '../types.js';
import { readLink } from './rows.js';
import type { Link, Proof } from './types.js';

/** Links that sign a user in to the console, each once and soon. Whoever makes one proves to be that user; whoever opens it need not. */
export class SignInLinks {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;

  constructor(changes: Changes, repository: AuthRepository) {
    this.#changes = changes;
    this.#repository = repository;
  }

  /** @throws MusterError `not_a_user`, `too_busy` */
  async create(
    organization: Organization,
    caller: Identity,
    proof: Proof,
  ): Promise<{ readonly secret: string; readonly expiresAt: number }> {
    const { now } = this.#changes;
    requireUser(caller);
    const secret = this.#changes.newSecret('link', AUTH_LIMITS.tokenBytes);
    const expiresAt = now + AUTH_LIMITS.linkMs;
    const { principalId, name } = caller;
    const change = { orgId: organization.id, actor: actorOf(caller), action: 'session.link', target: name } as const;
    await this.#changes.apply(change, async (trx) => {
      await trx.deleteFrom('sign_in_links').where('expires_at', '<=', now).execute();
      const held = await trx
        .selectFrom('sign_in_links')
        .select('hash')
        .where('principal_id', '=', principalId)
        .execute();
      const limit = AUTH_LIMITS.linksPerPrincipal;
      if (held.length >= limit) throw new MusterError('too_busy', { what: 'links to sign in by', limit });
      await trx
        .insertInto('sign_in_links')
        .values({
          hash: secret.hash,
          ...{ org_id: organization.id, principal_id: principalId, ...proofColumns(proof) },
          ...{ expires_at: expiresAt, created_at: now },
        })
        .execute();
    });
    return { secret: secret.text, expiresAt };
  }

  /** Whom it would sign in. It stays good. @throws MusterError `invalid_link` */
  async find(secret: string): Promise<Link> {
    const found = await readLink(this.#repository.read, secretHash(secret));
    const { now } = this.#changes;
    if (found === undefined || found.expiresAt <= now) throw new MusterError('invalid_link');
    if (found.proofEnds !== null && found.proofEnds <= now) throw new MusterError('invalid_link');
    return found;
  }
}

/** @throws MusterError `not_a_user` */
export function requireUser({ type, name }: Pick<Identity, 'type' | 'name'>): void {
  if (type !== 'user') throw new MusterError('not_a_user', { type, name });
}

export function proofColumns(proof: Proof) {
  return {
    key_fingerprint: proof.kind === 'key' ? proof.fingerprint : null,
    token_hash: proof.kind === 'token' ? proof.hash : null,
  };
}

export function byUser(name: string, address: string): Actor {
  return { name, kind: 'user', address };
}
