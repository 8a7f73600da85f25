import { MusterError } from '../../errors.js';
import type { Changes, Trx } from '../changes.js';
import { addToGroup } from '../groups.js';
import { AUTH_LIMITS } from '../limits.js';
import { canonicalGroup } from '../names.js';
import { insertMember } from '../organizations.js';
import { findPrincipal, insertPrincipal } from '../principals.js';
import type { AuthRepository } from '../repository.js';
import { trustIn } from '../trust-in.js';
import type { Actor, Identity, Organization } from '../types.js';
import type { IssuedTokens, SignedIn } from './issued.js';
import type { Issuer, SignIn } from './types.js';

export interface SignInView {
  readonly token: string;
  readonly user: string;
  readonly expiresAt: number;
  /** That the issuer is asked about and the user is a member of now, by name. */
  readonly groups: readonly string[];
}

/** What an issuer has made of a user's groups. */
interface Synced {
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

interface SignInDeps {
  readonly changes: Changes;
  readonly repository: AuthRepository;
  readonly issued: Pick<IssuedTokens, 'signIn'>;
}

/**
 * People sign in at an issuer of an organization and get an access token, short-lived and good in that organization alone: an issuer is
 * chosen by its admins, and whom it names must get nowhere else by it.
 */
export class SignIns {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #issued: Pick<IssuedTokens, 'signIn'>;

  constructor({ changes, repository, issued }: SignInDeps) {
    this.#changes = changes;
    this.#repository = repository;
    this.#issued = issued;
  }

  /** Where one can sign in, by name. */
  async offered(orgId: string): Promise<readonly (Issuer & { readonly signIn: SignIn })[]> {
    const issuers = await this.#repository.issuers(orgId);
    return issuers.flatMap(({ signIn, ...issuer }) => (signIn === null ? [] : [{ ...issuer, signIn }]));
  }

  /** @throws MusterError `sign_in_not_offered`, `invalid_jwt`, `issuer_unavailable`, `sign_in_unknown_user`, `too_busy` */
  async begin(organization: Organization, name: string, idToken: string, address: string): Promise<SignInView> {
    const issuer = (await this.offered(organization.id)).find((one) => one.name === name);
    if (issuer === undefined)
      throw new MusterError('sign_in_not_offered', { organization: organization.name, where: ` at '${name}'` });
    const { signIn } = issuer;
    const proved = await this.#issued.signIn(idToken, issuer, signIn);
    const { user } = proved;
    // Read first: strangers whom an issuer knows must not take turns in the one lane of writes.
    if (!signIn.createUsers) await this.#requireMember(organization, user);
    const { now } = this.#changes;
    const secret = this.#changes.newSecret('access', AUTH_LIMITS.tokenBytes);
    const [id, principalId] = [this.#changes.newId(), this.#changes.newId()];
    const expiresAt = now + signIn.ttlSeconds * 1000;
    const detail: Record<string, string | number | boolean> = { issuer: name, id, ttl: signIn.ttlSeconds };
    const actor: Actor = { name: user, kind: 'user', address };
    await this.#changes.apply(
      { orgId: organization.id, actor, action: 'login.begin', target: user, detail },
      async (trx) => {
        await useOnce(trx, organization, proved, now);
        const known = await memberId(trx, organization, user);
        if (known === null) await this.#create(trx, organization, { id: principalId, user, signIn, now });
        const { joined, left } = await syncGroups(trx, organization, proved, signIn, now);
        Object.assign(detail, { created: known === null, joined: joined.join(' '), left: left.join(' ') });
        const bearer = known ?? principalId;
        await requireRoom(trx, bearer, now);
        await trx
          .insertInto('access_tokens')
          .values({
            ...{ id, principal_id: bearer, org_id: organization.id, issuer_id: issuer.id, hash: secret.hash },
            ...{ expires_at: expiresAt, created_by: user, created_at: now },
          })
          .execute();
      },
    );
    return { token: secret.text, user, expiresAt, groups: [...proved.groups].map(canonicalGroup).sort() };
  }

  /** By the token that the user got then. @throws MusterError `not_signed_in` */
  async end(organization: Organization, hash: string | null, caller: Identity, actor: Actor): Promise<void> {
    const { name } = caller;
    const change = { orgId: organization.id, actor, action: 'login.end', target: name } as const;
    await this.#changes.apply(change, async (trx) => {
      const deleted = await trx
        .deleteFrom('access_tokens')
        .where('hash', '=', hash ?? '')
        .where('issuer_id', 'is not', null)
        .executeTakeFirst();
      if (deleted.numDeletedRows === 0n) throw new MusterError('not_signed_in', { name });
    });
  }

  async #requireMember(organization: Organization, user: string): Promise<void> {
    const candidates = await this.#repository.candidates(organization.id, user);
    if (!candidates.some(({ type, member }) => type === 'user' && member)) {
      throw unknownUser(organization, user, 'no user of this name belongs to it');
    }
  }

  /** Without a key: whoever comes from there can only sign in, until an admin adds one. */
  async #create(
    trx: Trx,
    organization: Organization,
    {
      id,
      user,
      signIn,
      now,
    }: { readonly id: string; readonly user: string; readonly signIn: SignIn; readonly now: number },
  ): Promise<void> {
    const refused = (reason: string) => unknownUser(organization, user, reason);
    if (!signIn.createUsers) throw refused('no user of this name belongs to it');
    // Nobody is drawn into an organization without being asked.
    if ((await findPrincipal(trx, null, user)) !== undefined)
      throw refused('the user of this name does not belong to it');
    const reason = await trustIn(trx, organization.id, 'user', user);
    if (reason !== null) throw refused(`there is no such user yet, but ${reason}`);
    await insertPrincipal(trx, { id, orgId: null, type: 'user', name: user, serverAdmin: false, key: null, now });
    await insertMember(trx, organization.id, id, now);
  }
}

function unknownUser({ name: organization }: Organization, name: string, reason: string): MusterError {
  return new MusterError('sign_in_unknown_user', { name, organization, reason });
}

/** A token that was seen by somebody else is of no use to them. */
async function useOnce(trx: Trx, { id }: Organization, { hash, endsMs }: SignedIn, now: number): Promise<void> {
  await trx.deleteFrom('used_sign_ins').where('ends', '<=', now).execute();
  const used = trx.selectFrom('used_sign_ins').select('ends').where('org_id', '=', id).where('hash', '=', hash);
  if ((await used.executeTakeFirst()) !== undefined) {
    throw new MusterError('invalid_jwt', { reason: 'somebody has signed in with it before' });
  }
  await trx.insertInto('used_sign_ins').values({ org_id: id, hash, ends: endsMs }).execute();
}

async function memberId(trx: Trx, { id }: Organization, user: string): Promise<string | null> {
  const row = await trx
    .selectFrom('principals as p')
    .innerJoin('org_members as m', 'm.principal_id', 'p.id')
    .select('p.id')
    .where('p.org_id', 'is', null)
    .where('p.type', '=', 'user')
    .where('p.name', '=', user)
    .where('m.org_id', '=', id)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** A member of the groups that the claims give, and of no other one that claims can give. */
async function syncGroups(
  trx: Trx,
  { id }: Organization,
  { user, groups }: SignedIn,
  signIn: SignIn,
  now: number,
): Promise<Synced> {
  const given = new Set([...groups].map(canonicalGroup));
  const asked = [...new Set(Object.values(signIn.groups).map(canonicalGroup))].sort();
  if (asked.length === 0) return { joined: [], left: [] };
  const own = trx.selectFrom('group_members').select('group_name').where('org_id', '=', id);
  const rows = await own
    .where('kind', '=', 'user')
    .where('member', '=', user)
    .where('group_name', 'in', asked)
    .execute();
  const held = new Set(rows.map(({ group_name }) => group_name));
  const joined = asked.filter((group) => given.has(group) && !held.has(group));
  const left = asked.filter((group) => !given.has(group) && held.has(group));
  for (const group of joined) await addToGroup(trx, id, group, 'user', user, now);
  if (left.length > 0) {
    await trx
      .deleteFrom('group_members')
      .where('org_id', '=', id)
      .where('kind', '=', 'user')
      .where('member', '=', user)
      .where('group_name', 'in', left)
      .execute();
  }
  return { joined, left };
}

async function requireRoom(trx: Trx, principalId: string, now: number): Promise<void> {
  await trx.deleteFrom('access_tokens').where('expires_at', '<=', now).execute();
  const held = await trx.selectFrom('access_tokens').select('id').where('principal_id', '=', principalId).execute();
  if (held.length >= AUTH_LIMITS.accessTokensPerPrincipal) {
    throw new MusterError('too_busy', { what: 'access tokens', limit: AUTH_LIMITS.accessTokensPerPrincipal });
  }
}
