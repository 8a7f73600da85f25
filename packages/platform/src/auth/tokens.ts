import type { Schema } from '@muster/store';
import type { DeleteResult, Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import type { Changes, Trx } from './changes.js';
import { AUTH_LIMITS } from './limits.js';
import type { AuthRepository } from './repository.js';
import type { Actor, Organization } from './types.js';

export interface EnrolTokenView {
  readonly id: string;
  readonly usesLeft: number;
  readonly expiresAt: number;
  readonly createdBy: string;
  readonly createdAt: number;
}

export interface AccessTokenView {
  readonly id: string;
  /** Name of the user or service it stands for. */
  readonly bearer: string;
  readonly expiresAt: number;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** Whom an access token stands for: a user, or a service of this organization. */
export interface TokenBearer {
  readonly organization: Organization | null;
  readonly name: string;
}

/** A view with the token itself, which is shown this once and stored only as a hash. */
export type Issued<View> = View & { readonly token: string };

/** Enrolment tokens for agents that make their own key, and access tokens that stand in for a signature. */
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
      createdBy: actor.name,
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
            created_by: actor.name,
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
    about: {
      readonly bearer: TokenBearer;
      readonly ttlSeconds: number;
      /** Of a user: where its requests go whose paths name none. He belongs to it. */
      readonly organization?: Organization;
    },
    actor: Actor,
  ): Promise<Issued<AccessTokenView>> {
    const { now } = this.#changes;
    const { bearer, ttlSeconds, organization = null } = about;
    const { name } = bearer;
    const secret = this.#changes.newSecret('access', AUTH_LIMITS.tokenBytes);
    const view: AccessTokenView = {
      id: this.#changes.newId(),
      bearer: name,
      expiresAt: now + ttlSeconds * 1000,
      createdBy: actor.name,
      createdAt: now,
    };
    await this.#changes.apply(
      {
        orgId: bearer.organization?.id ?? null,
        actor,
        action: 'access_token.create',
        target: name,
        detail: { id: view.id, ttl: ttlSeconds },
        concerns: { user: name },
      },
      async (trx) => {
        const principalId = await requireBearer(trx, bearer);
        if (organization !== null) await requireMember(trx, organization, principalId, name);
        await trx.deleteFrom('access_tokens').where('expires_at', '<=', now).execute();
        const held = await trx
          .selectFrom('access_tokens')
          .select('id')
          .where('principal_id', '=', principalId)
          .execute();
        if (held.length >= AUTH_LIMITS.accessTokensPerPrincipal) {
          throw new MusterError('too_busy', { what: 'access tokens', limit: AUTH_LIMITS.accessTokensPerPrincipal });
        }
        await trx
          .insertInto('access_tokens')
          .values({
            id: view.id,
            principal_id: principalId,
            org_id: organization?.id ?? null,
            issuer_id: null,
            hash: secret.hash,
            expires_at: view.expiresAt,
            created_by: actor.name,
            created_at: now,
          })
          .execute();
      },
    );
    return { ...view, token: secret.text };
  }

  /** Of all users, or of one. */
  async listUserTokens(principalId: string | null): Promise<readonly AccessTokenView[]> {
    const all = this.#accessTokens().where('p.type', '=', 'user');
    return (principalId === null ? all : all.where('t.principal_id', '=', principalId)).execute();
  }

  /** @throws MusterError `not_found` when there is no such service. */
  async listServiceTokens(organization: Organization, name: string): Promise<readonly AccessTokenView[]> {
    const service = await requireBearer(this.#repository.read, { organization, name });
    return this.#accessTokens().where('t.principal_id', '=', service).execute();
  }

  #accessTokens() {
    return this.#repository.read
      .selectFrom('access_tokens as t')
      .innerJoin('principals as p', 'p.id', 't.principal_id')
      .select(['t.id', 'p.name as bearer', 't.expires_at as expiresAt', 't.created_by as createdBy'])
      .select('t.created_at as createdAt')
      .where('t.expires_at', '>', this.#changes.now)
      .orderBy('t.created_at');
  }

  /** `principalId` null: whichever user it belongs to. */
  async removeUserToken(principalId: string | null, id: string, actor: Actor): Promise<void> {
    const about = { orgId: null, actor, target: id, concerns: { accessToken: id } };
    await this.#changes.apply({ ...about, action: 'access_token.delete' }, async (trx) => {
      const rows = trx.deleteFrom('access_tokens').where('id', '=', id);
      const owned =
        principalId === null
          ? rows.where('principal_id', 'in', trx.selectFrom('principals').select('id').where('type', '=', 'user'))
          : rows.where('principal_id', '=', principalId);
      requireDeleted(await owned.executeTakeFirst(), id);
    });
  }

  async removeServiceToken(organization: Organization, name: string, id: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'access_token.delete', target: id }, async (trx) => {
      const service = await requireBearer(trx, { organization, name });
      const rows = trx.deleteFrom('access_tokens').where('id', '=', id).where('principal_id', '=', service);
      requireDeleted(await rows.executeTakeFirst(), id);
    });
  }
}

function requireDeleted({ numDeletedRows }: DeleteResult, id: string): void {
  if (numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'access token', name: id });
}

async function requireMember(trx: Trx, { id, name }: Organization, principalId: string, user: string): Promise<void> {
  const rows = trx
    .selectFrom('org_members')
    .select('org_id')
    .where('org_id', '=', id)
    .where('principal_id', '=', principalId);
  if ((await rows.executeTakeFirst()) === undefined) {
    throw new MusterError('not_associated', { name: user, organization: name });
  }
}

async function requireBearer(db: Kysely<Schema>, bearer: TokenBearer): Promise<string> {
  const { organization, name } = bearer;
  const type = organization === null ? 'user' : 'service';
  const named = db.selectFrom('principals').select('id').where('type', '=', type).where('name', '=', name);
  const found = await (organization === null
    ? named.where('org_id', 'is', null)
    : named.where('org_id', '=', organization.id)
  ).executeTakeFirst();
  if (found === undefined) throw new MusterError('not_found', { kind: type, name });
  return found.id;
}
