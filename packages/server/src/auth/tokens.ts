import { MusterError } from '@muster/wire';
import type { Actor, Changes } from './changes.js';
import { AUTH_LIMITS } from './limits.js';
import type { AuthRepository } from './repository.js';
import type { Organization } from './types.js';

export interface EnrolTokenView {
  readonly id: string;
  readonly usesLeft: number;
  readonly expiresAt: number;
  readonly createdBy: string;
  readonly createdAt: number;
}

export interface AccessTokenView {
  readonly id: string;
  readonly user: string;
  readonly expiresAt: number;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** A view with the token itself, which is shown this once and stored only as a hash. */
export type Issued<View> = View & { readonly token: string };

/** Enrolment tokens for agents that make their own key, and access tokens that stand in for a user's signature. */
export class Tokens {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;

  constructor(changes: Changes, repository: AuthRepository) {
    this.#changes = changes;
    this.#repository = repository;
  }

  async createEnrolToken(
    organization: Organization,
    about: { readonly uses: number; readonly ttlSeconds: number },
    actor: Actor,
  ): Promise<Issued<EnrolTokenView>> {
    const { now } = this.#changes;
    const secret = this.#changes.newSecret('enrol', AUTH_LIMITS.tokenBytes);
    const orgId = organization.id;
    const view: EnrolTokenView = {
      id: this.#changes.newId(),
      usesLeft: about.uses,
      expiresAt: now + about.ttlSeconds * 1000,
      createdBy: actor,
      createdAt: now,
    };
    await this.#changes.apply(
      { orgId, actor, action: 'token.create', target: view.id, detail: { uses: about.uses, ttl: about.ttlSeconds } },
      async (trx) => {
        await trx.deleteFrom('enrol_tokens').where('expires_at', '<=', now).execute();
        const held = await trx.selectFrom('enrol_tokens').select('id').where('org_id', '=', orgId).execute();
        if (held.length >= AUTH_LIMITS.tokensPerOrganization) {
          throw new MusterError('too_busy', { what: 'tokens', limit: AUTH_LIMITS.tokensPerOrganization });
        }
        await trx
          .insertInto('enrol_tokens')
          .values({
            id: view.id,
            org_id: orgId,
            hash: secret.hash,
            uses_left: view.usesLeft,
            expires_at: view.expiresAt,
            created_by: actor,
            created_at: now,
          })
          .execute();
      },
    );
    return { ...view, token: secret.text };
  }

  async listEnrolTokens(orgId: string): Promise<readonly EnrolTokenView[]> {
    return this.#repository.read
      .selectFrom('enrol_tokens')
      .select(['id', 'uses_left as usesLeft', 'expires_at as expiresAt', 'created_by as createdBy'])
      .select('created_at as createdAt')
      .where('org_id', '=', orgId)
      .where('expires_at', '>', this.#changes.now)
      .orderBy('created_at')
      .execute();
  }

  async removeEnrolToken(organization: Organization, id: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'token.delete', target: id }, async (trx) => {
      const removed = await trx
        .deleteFrom('enrol_tokens')
        .where('org_id', '=', orgId)
        .where('id', '=', id)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'token', name: id });
    });
  }

  async createAccessToken(
    about: { readonly user: string; readonly ttlSeconds: number },
    actor: Actor,
  ): Promise<Issued<AccessTokenView>> {
    const { now } = this.#changes;
    const secret = this.#changes.newSecret('access', AUTH_LIMITS.tokenBytes);
    const view: AccessTokenView = {
      id: this.#changes.newId(),
      user: about.user,
      expiresAt: now + about.ttlSeconds * 1000,
      createdBy: actor,
      createdAt: now,
    };
    await this.#changes.apply(
      {
        orgId: null,
        actor,
        action: 'access_token.create',
        target: about.user,
        detail: { id: view.id, ttl: about.ttlSeconds },
      },
      async (trx) => {
        const user = await trx
          .selectFrom('principals')
          .select('id')
          .where('org_id', 'is', null)
          .where('name', '=', about.user)
          .executeTakeFirst();
        if (user === undefined) throw new MusterError('not_found', { kind: 'user', name: about.user });
        await trx.deleteFrom('access_tokens').where('expires_at', '<=', now).execute();
        const held = await trx.selectFrom('access_tokens').select('id').where('principal_id', '=', user.id).execute();
        if (held.length >= AUTH_LIMITS.accessTokensPerPrincipal) {
          throw new MusterError('too_busy', { what: 'access tokens', limit: AUTH_LIMITS.accessTokensPerPrincipal });
        }
        await trx
          .insertInto('access_tokens')
          .values({
            id: view.id,
            principal_id: user.id,
            hash: secret.hash,
            expires_at: view.expiresAt,
            created_by: actor,
            created_at: now,
          })
          .execute();
      },
    );
    return { ...view, token: secret.text };
  }

  /** All, or those of one user. */
  async listAccessTokens(principalId: string | null): Promise<readonly AccessTokenView[]> {
    let rows = this.#repository.read
      .selectFrom('access_tokens as t')
      .innerJoin('principals as p', 'p.id', 't.principal_id')
      .select(['t.id', 'p.name as user', 't.expires_at as expiresAt', 't.created_by as createdBy'])
      .select('t.created_at as createdAt')
      .where('t.expires_at', '>', this.#changes.now)
      .orderBy('t.created_at');
    if (principalId !== null) rows = rows.where('t.principal_id', '=', principalId);
    return rows.execute();
  }

  /** `principalId` null: whoever it belongs to. */
  async removeAccessToken(principalId: string | null, id: string, actor: Actor): Promise<void> {
    await this.#changes.apply({ orgId: null, actor, action: 'access_token.delete', target: id }, async (trx) => {
      let rows = trx.deleteFrom('access_tokens').where('id', '=', id);
      if (principalId !== null) rows = rows.where('principal_id', '=', principalId);
      const removed = await rows.executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'access token', name: id });
    });
  }
}
