import { MusterError } from '../../errors.js';
import { type Changes, secretHash } from '../changes.js';
import type { AuthRepository } from '../repository.js';
import type { Actor, AuditEntry, Organization } from '../types.js';
import type { KeyRing } from './key-ring.js';
import { pemKey } from './keys.js';
import { ISSUER_LIMITS, type Issuer, type NewIssuer, type SignIn } from './types.js';

/** Whose tokens an organization takes. */
export class IssuerDirectory {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #keys: KeyRing;

  constructor(changes: Changes, repository: AuthRepository, keys: KeyRing) {
    this.#changes = changes;
    this.#repository = repository;
    this.#keys = keys;
  }

  list(organization: Organization): Promise<readonly Issuer[]> {
    return this.#repository.issuers(organization.id);
  }

  /**
   * An issuer is one organization's: a token must not be good in two.
   * @throws MusterError `invalid_field` also where its keys cannot be fetched, `already_exists`, `issuer_taken`, `too_busy`
   */
  async create(organization: Organization, asked: NewIssuer, actor: Actor): Promise<Issuer> {
    const checked = await this.#checked(asked);
    const { now } = this.#changes;
    const issuer: Issuer = { ...checked, id: this.#changes.newId(), organization, createdAt: now };
    const { id, name, kind, source, audience, userClaim, tenant, signIn } = issuer;
    const orgId = organization.id;
    // `iss` of its tokens, or else the key, with their audience, and with their tenant where several have one gateway.
    const recognized = JSON.stringify([issuer.issuer ?? secretHash(source), audience, tenant]);
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'issuer.create',
        target: name,
        detail: { kind, issuer: issuer.issuer, audience, ...signInDetail(signIn) },
      },
      async (trx) => {
        const held = await trx.selectFrom('issuers').select('name').where('org_id', '=', orgId).execute();
        if (held.some((one) => one.name === name)) throw new MusterError('already_exists', { kind: 'issuer', name });
        if (held.length >= ISSUER_LIMITS.perOrganization) {
          throw new MusterError('too_busy', { what: 'issuers', limit: ISSUER_LIMITS.perOrganization });
        }
        const same = trx.selectFrom('issuers').select('id').where('recognized', '=', recognized);
        if ((await same.executeTakeFirst()) !== undefined) throw new MusterError('issuer_taken', { name });
        await trx
          .insertInto('issuers')
          .values({
            ...{ id, org_id: orgId, name, kind, source, recognized, issuer: issuer.issuer, audience, tenant },
            user_claim: userClaim,
            sign_in: signIn === null ? null : JSON.stringify(signIn),
            created_at: now,
          })
          .execute();
      },
    );
    return issuer;
  }

  /** Whoever has signed in there is signed out. */
  async remove(organization: Organization, name: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'issuer.delete', target: name }, async (trx) => {
      const named = trx.selectFrom('issuers').select('id').where('org_id', '=', orgId).where('name', '=', name);
      const id = (await named.executeTakeFirst())?.id;
      if (id === undefined) throw new MusterError('not_found', { kind: 'issuer', name });
      await trx.deleteFrom('issuers').where('id', '=', id).execute();
      await trx.deleteFrom('access_tokens').where('issuer_id', '=', id).execute();
    });
  }

  /** Its keys are looked for now: who configures it learns what is wrong, and not its users. */
  async #checked(asked: NewIssuer): Promise<NewIssuer> {
    checkSignIn(asked);
    if (asked.kind === 'public_key') return { ...asked, source: pemKey(asked.source).pem };
    const invalid = (reason: string) => new MusterError('invalid_field', { field: asked.kind, reason });
    if (!URL.canParse(asked.source)) throw invalid('must be a URL');
    try {
      const issuer = asked.kind === 'oidc' ? (await this.#keys.discover(asked.source)).issuer : asked.issuer;
      await this.#keys.check(asked);
      return { ...asked, issuer };
    } catch (error) {
      throw invalid(error instanceof Error ? error.message : String(error));
    }
  }
}

function checkSignIn({ kind, signIn }: NewIssuer): void {
  if (signIn === null) return;
  const invalid = (field: string, reason: string) =>
    new MusterError('invalid_field', { field: `sign_in${field}`, reason });
  if (kind !== 'oidc') throw invalid('', 'people sign in at an OpenID provider: give oidc');
  if (!signIn.scope.split(' ').includes('openid')) throw invalid('.scope', "must have 'openid' among its words");
  const mapped = Object.keys(signIn.groups).length;
  if (signIn.groupsClaim === null && mapped > 0) throw invalid('.groups_claim', 'say which claim has those groups');
  if (signIn.groupsClaim !== null && mapped === 0)
    throw invalid('.groups', 'say which group here each value means: no other value gives anything');
}

/** What the audit keeps of it. */
function signInDetail(signIn: SignIn | null): AuditEntry['detail'] {
  if (signIn === null) return {};
  const groups = Object.entries(signIn.groups).map(([value, group]) => `${value}=${group}`);
  return {
    client_id: signIn.clientId,
    groups_claim: signIn.groupsClaim,
    groups: groups.join(' '),
    create_users: signIn.createUsers,
    ttl: signIn.ttlSeconds,
  };
}
